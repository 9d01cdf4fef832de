"""Laws of every recurrent decoder: at once and step by step, padding, batch mates, causality, precision."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from zoo.core import ConfigError, InputError, Tokens, Valid
from zoo.core.tokens import rows

pytestmark = pytest.mark.usefixtures("on_device")

Make = Callable[..., Any]
CASES = [
    ("plain", {}),
    ("plain", {"cell": "gru", "depth": 2}),
    ("present", {"score": "dot"}),
    ("present", {"score": "location", "window": "local-m", "depth": 2}),
    ("feeding", {"window": "local-m"}),
    ("feeding", {"score": "concat", "window": "local-p", "cell": "gru"}),
    ("previous", {"score": "concat"}),
    ("previous", {"score": "location", "window": "local-p", "cell": "gru", "depth": 2}),
]
each_decoder = pytest.mark.parametrize(("kind", "options"), CASES)


@each_decoder
@torch.no_grad()
def test_teacher_forcing_is_decoding_step_by_step(
    kind: str, options: dict[str, Any], make_decoder: Make, source: Tokens, target: Tokens
) -> None:
    decoder = make_decoder(kind, **options)
    state = decoder.state(3)
    pieces = target.x.split([2, 1, 1], dim=1)
    steps = [decoder(Tokens(x), None if at else source, state).x for at, x in enumerate(pieces)]
    torch.testing.assert_close(torch.cat(steps, 1), decoder(target, source).x)
    assert state.next.tolist() == [4, 4, 4]


@each_decoder
@torch.no_grad()
def test_padding_of_the_source_changes_nothing(
    kind: str, options: dict[str, Any], make_decoder: Make, source: Tokens, target: Tokens
) -> None:
    decoder = make_decoder(kind, **options)
    valid = source.valid()
    assert valid is not None
    poisoned = source.with_x(source.x.masked_fill(~valid[..., None], float("nan")))
    torch.testing.assert_close(decoder(target, poisoned).x, decoder(target, source).x)
    for row in range(3):
        alone = Tokens(source.x[row, valid[row]][None])
        found = decoder(Tokens(target.x[row : row + 1]), alone).x
        torch.testing.assert_close(found, decoder(target, source).x[row : row + 1])


@each_decoder
@torch.no_grad()
def test_padding_of_the_target_leaves_the_state_and_later_steps(
    kind: str, options: dict[str, Any], make_decoder: Make, source: Tokens, target: Tokens
) -> None:
    decoder = make_decoder(kind, **options)
    mask = torch.tensor([[1, 1, 0], [1, 1, 1], [1, 0, 0]], dtype=torch.bool)
    state, more = decoder.state(3), torch.randn(3, 1, 6, dtype=torch.float64)
    decoder(Tokens(target.x[:, :3].masked_fill(~mask[..., None], float("nan")), keys=Valid(mask)), source, state)
    assert state.next.tolist() == mask.sum(1).tolist()
    followed = decoder(Tokens(more), None, state).x
    for row, length in enumerate(mask.sum(1).tolist()):
        whole = Tokens(torch.cat([target.x[row : row + 1, :length], more[row : row + 1]], 1))
        expected = decoder(whole, rows(source, torch.tensor([row]))).x[:, -1:]
        torch.testing.assert_close(followed[row : row + 1], expected)


@each_decoder
@torch.no_grad()
def test_no_token_reads_a_later_one(
    kind: str, options: dict[str, Any], make_decoder: Make, source: Tokens, target: Tokens
) -> None:
    decoder = make_decoder(kind, **options)
    later = target.with_x(torch.cat([target.x[:, :2], target.x[:, 2:] * 9], 1))
    torch.testing.assert_close(decoder(later, source).x[:, :2], decoder(target, source).x[:, :2])


@each_decoder
@torch.no_grad()
def test_rows_of_a_state_are_taken_as_beam_search_takes_them(
    kind: str, options: dict[str, Any], make_decoder: Make, source: Tokens, target: Tokens
) -> None:
    decoder, index = make_decoder(kind, **options), torch.tensor([2, 0, 0, 1])
    state = decoder.state(3)
    decoder(Tokens(target.x[:, :3]), source, state)
    state.reorder(index)
    found = decoder(Tokens(target.x[index, 3:]), None, state).x
    torch.testing.assert_close(found, decoder(target, source).x[index, 3:])


@each_decoder
def test_gradients_are_those_of_finite_differences(
    kind: str, options: dict[str, Any], make_decoder: Make, source: Tokens, target: Tokens
) -> None:
    decoder = make_decoder(kind, **options)
    x, s = target.x[:2, :2].clone().requires_grad_(), source.x[:2, :3].clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda x, s: decoder(Tokens(x), Tokens(s)).x, (x, s), fast_mode=True)


@each_decoder
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@torch.no_grad()
def test_half_precision_is_finite(
    kind: str, options: dict[str, Any], dtype: torch.dtype, make_decoder: Make, source: Tokens, target: Tokens
) -> None:
    decoder = make_decoder(kind, **options).to(dtype)
    answer = decoder(Tokens(target.x.to(dtype) * 50), source.with_x(source.x.to(dtype) * 50)).x
    assert answer.dtype == dtype
    assert answer.isfinite().all()


def test_a_decoder_without_a_source_is_refused(make_decoder: Make, target: Tokens) -> None:
    with pytest.raises(InputError, match="give context="):
        make_decoder("plain")(target)


def test_a_recurrent_state_is_not_taken_back_and_does_not_grow(
    make_decoder: Make, source: Tokens, target: Tokens
) -> None:
    decoder = make_decoder("feeding")
    state = decoder.state(3)
    decoder(Tokens(target.x[:, :1]), source, state)
    size = state.stored
    decoder(target, None, state)
    assert state.stored == size
    with pytest.raises(ConfigError, match=r"crop\(2\): a state of constant size holds no single tokens"):
        state.crop(2)
