"""Hard attention reads one key: a drawn one in training, the best in evaluation, at once as step by step."""

import pytest
import torch
from torch import Tensor

from zoo.core import ConfigError, HardAttention, Lengths, Tokens, Window, record_choices


def layer(heads: int = 2) -> HardAttention:
    torch.manual_seed(0)
    return HardAttention(8, heads).double()


def tokens(rows: int = 2, length: int = 5) -> Tokens:
    return Tokens(torch.randn(rows, length, 8, generator=torch.Generator().manual_seed(1)).double())


def read(attention: HardAttention, given: Tokens) -> Tensor:
    """Give the answers that each query would get from each key, for one head."""
    _, _, v, *_ = attention.inputs(given, None, None)
    return attention.out(v[:, :, 0])


def test_evaluation_reads_the_best_key() -> None:
    attention, given = layer(1).eval(), tokens()
    q, k, *_ = attention.inputs(given, None, None)
    best = (q[:, :, 0] @ k[:, :, 0].mT).argmax(-1)
    wanted = read(attention, given).gather(1, best[..., None].expand(-1, -1, 8))
    torch.testing.assert_close(attention(given), wanted)


def test_training_draws_each_key_as_often_as_its_softmax_says() -> None:
    torch.manual_seed(2)
    attention, draws = layer(1), 4000
    one = tokens(1, 3)
    given = Tokens(one.x.expand(draws, -1, -1))
    q, k, *_ = attention.inputs(one, None, None)
    chance = (q[:, :, 0] @ k[:, :, 0].mT / 8**0.5).softmax(-1)[0]
    with record_choices(attention) as choices:
        y = attention(given)
    from_key = (y[:, :, None] - read(attention, one)[:, None]).abs().sum(-1) < 1e-9
    assert bool((from_key.sum(-1) == 1).all())  # each answer is that of one key
    error = (chance * (1 - chance) / draws).sqrt()
    assert bool(((from_key.double().mean(0) - chance).abs() < 4 * error).all())
    torch.testing.assert_close(choices[0][:, 0], (from_key * chance).sum(-1).log())


def test_choices_are_collected_only_while_asked_for() -> None:
    attention, given = layer(), tokens()
    with record_choices(attention) as choices:
        attention(given)
        attention(given)
    with torch.no_grad():
        attention(given)
    assert [each.shape for each in choices] == [(2, 2, 5), (2, 2, 5)]
    assert attention.choices is None


def test_training_without_what_trains_its_choices_is_refused() -> None:
    attention, given = layer(), tokens()
    with pytest.raises(ConfigError, match=r"attention='hard' in training without .* REINFORCE"):
        attention(given)
    with torch.no_grad():
        assert attention(given).isfinite().all()


@torch.no_grad()
def test_padding_is_never_drawn() -> None:
    attention, given = layer(), tokens()
    padded = Tokens(given.x, keys=Lengths(torch.tensor([5, 2])))
    changed = Tokens(torch.cat([given.x[:, :2], given.x[:, 2:].roll(1, -1)], 1), keys=padded.keys)
    torch.manual_seed(3)
    once = attention(padded)[1, :2]
    torch.manual_seed(3)
    torch.testing.assert_close(attention(changed)[1, :2], once)


def test_it_answers_while_vectors_come() -> None:
    attention, given = layer().eval(), tokens(2, 7)
    stage = attention.stream(Window(2, 1))
    pieces = [stage.push(piece, last=index == 2) for index, piece in enumerate(given.x.split([2, 4, 1], 1))]
    torch.testing.assert_close(torch.cat(pieces, 1), attention(Tokens(given.x, Window(2, 1))))
