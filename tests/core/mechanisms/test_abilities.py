"""What each mechanism of attention says it can do holds: the tests go over all names that are registered.

A mechanism says it by `abilities`. Those that take arguments get the ones in `ARGUMENTS`, or their test fails.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from zoo.core import Causal, ConfigError, Lengths, Tokens
from zoo.core.mechanisms.abilities import Cost, Mechanism
from zoo.core.mechanisms.efficient.self_attention import SelfAttention
from zoo.core.mechanisms.recurrence.layer import RecurrentAttention
from zoo.factory.attention_argument import attention
from zoo.registry.lookup import Registry, registry, using

DIM, HEADS, LENGTH = 8, 2, 12
ARGUMENTS = {
    "linformer": "4,12",
    "performer": "16",
    "reformer": "2,1",
    "sinkhorn": "4",
    "synthesizer": "factorised,12",
    "nystrom": "4",
    "longformer": "4",
}
"""What stands behind the colon, for rows of `LENGTH` tokens."""


def mechanisms() -> dict[str, Callable[..., Any]]:
    """Give what makes each registered layer that says what it can do."""
    found = {}
    with using(Registry(plugins=["zoo.registry.builtin"], autoload=False)):
        for spec in registry().attentions:
            if spec.entry.startswith("zoo.core.patterns."):
                continue
            given = ARGUMENTS.get(spec.name, "")
            assert given or not spec.takes or spec.takes.startswith("["), f"{spec.name}: say its arguments in ARGUMENTS"
            make = attention(f"{spec.name}:{given}" if given else spec.name)
            if hasattr(make(DIM, HEADS), "abilities"):
                found[spec.name] = make
    return found


FOUND = mechanisms()


def able(*names: str) -> pytest.MarkDecorator:
    """Parametrise over the mechanisms that claim all of these."""
    claimed = [name for name, make in FOUND.items() if all(getattr(make(DIM, HEADS).abilities, each) for each in names)]
    return pytest.mark.parametrize("name", claimed)


def layer(name: str) -> Any:
    torch.manual_seed(0)
    return FOUND[name](DIM, HEADS).double().eval()


def draw(n: int = LENGTH) -> Tensor:
    return torch.randn(2, n, DIM, dtype=torch.float64, generator=torch.Generator().manual_seed(n))


def test_the_recurrences_are_among_them() -> None:
    assert {"linear", "retention", "gla", "ssd", "delta", "gated-delta"} <= set(FOUND)


@pytest.mark.parametrize("name", FOUND)
def test_a_mechanism_says_what_it_can_do_and_what_it_costs(name: str) -> None:
    made = layer(name)
    assert isinstance(made, Mechanism)
    short, long = made.cost(LENGTH // 2), made.cost(LENGTH)
    assert isinstance(short, Cost)
    assert 0 < short.multiply_adds < long.multiply_adds
    assert 0 < short.numbers <= long.numbers


@able("causal")
@torch.no_grad()
def test_what_is_causal_does_not_move_with_later_tokens(name: str) -> None:
    made, x = layer(name), draw()
    before = made(Tokens(x, Causal()))
    for t in range(1, LENGTH):
        moved = x.clone()
        moved[:, t:] = 6 * moved[:, t:].flip(0)
        torch.testing.assert_close(made(Tokens(moved, Causal()))[:, :t], before[:, :t])
    assert not torch.allclose(before[:, -1], made(Tokens(6 * x, Causal()))[:, -1])


@pytest.mark.parametrize("name", sorted(FOUND.keys() - {name for name in FOUND if layer(name).abilities.causal}))
def test_what_is_not_causal_refuses_before_any_work(name: str) -> None:
    with pytest.raises(ConfigError):
        layer(name)(Tokens(draw(), Causal()))


@able("padding_exact")
@torch.no_grad()
def test_padding_changes_no_answer_nor_does_a_batch_mate(name: str) -> None:
    made, x = layer(name), draw()
    lengths = torch.tensor([LENGTH, LENGTH - 5])
    for filler in (0.0, 7.0):
        padded = x.clone()
        padded[1, LENGTH - 5 :] = filler
        together = made(Tokens(padded, keys=Lengths(lengths)))
        for row, n in enumerate(lengths.tolist()):
            alone = made(Tokens(x[row : row + 1, :n]))
            torch.testing.assert_close(together[row : row + 1, :n], alone)


@able("any_length")
@torch.no_grad()
def test_rows_of_any_length_are_read(name: str) -> None:
    made = layer(name)
    for n in (1, 2, LENGTH - 1, 97):
        y = made(Tokens(draw(n)))
        assert y.shape == (2, n, DIM)
        assert bool(y.isfinite().all())


@able("streams")
@torch.no_grad()
def test_what_streams_gives_step_by_step_what_it_gives_at_once_with_a_state_of_constant_size(name: str) -> None:
    made, x = layer(name), draw(30)
    state, stage, steps, sizes = made.state(2, Causal()), made.stream(Causal()), [], set()
    for t in range(30):
        steps.append(made(Tokens(x[:, t : t + 1], Causal()), None, state))
        sizes.add(state.stored)
    torch.testing.assert_close(torch.cat(steps, 1), made(Tokens(x, Causal())))
    torch.testing.assert_close(torch.cat([stage.push(piece) for piece in x.split(7, 1)], 1), torch.cat(steps, 1))
    assert len(sizes) == 1
    assert stage.stored == state.stored


@able("weights")
@torch.no_grad()
def test_weights_are_the_matrix_that_is_multiplied_with_the_values(name: str) -> None:
    """By a perturbation: the mix is what the first part behind it is given, a norm of heads or the projection out."""
    made, x = layer(name), draw()
    mixed: list[Tensor] = []
    behind = getattr(made, "head_norm", made.out)
    behind.register_forward_pre_hook(lambda _, given: mixed.append(given[0]))
    for tokens in (Tokens(x), Tokens(x, keys=Lengths(torch.tensor([LENGTH, LENGTH - 5])))):
        made(tokens)
        values = (made.project(x) if isinstance(made, SelfAttention) else made.project(tokens, None))[-1]
        values = values.movedim(1, 2) if values.shape[1] == LENGTH else values
        expected = (made.weights(tokens) @ scaled(made, tokens, values)).transpose(1, 2).flatten(2)
        valid = tokens.valid()
        valid = torch.ones(2, LENGTH, dtype=torch.bool) if valid is None else valid
        torch.testing.assert_close(mixed[-1].reshape(2, LENGTH, -1)[valid], expected[valid])


def scaled(made: Any, tokens: Tokens, values: Tensor) -> Tensor:
    """Give the values as they are written, where a mechanism scales them."""
    return made._steps(tokens, None, None).v if isinstance(made, RecurrentAttention) else values
