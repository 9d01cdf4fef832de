"""Training that keeps only what goes into each block."""

import pytest
import torch
from torch import Tensor

from zoo.bench.speed.memory import peak_bytes
from zoo.core import Encoder, Tokens
from zoo.core.patterns.edges import Edges
from zoo.core.transforms.activation_checkpointing import recomputed

pytestmark = pytest.mark.usefixtures("float64")


def gradients(encoder: Encoder, x: Tensor) -> list[Tensor]:
    ring = torch.arange(x.shape[1])
    loss = encoder(Tokens(x, Edges(torch.stack([ring, ring.roll(1)])))).x.square().sum()
    return list(torch.autograd.grad(loss, [x, *encoder.parameters()]))


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_gradients_are_those_of_the_whole(dropout: float) -> None:
    torch.manual_seed(0)
    encoder, x = Encoder(8, 2, 2, 16, dropout=dropout).train(), torch.randn(1, 5, 8, requires_grad=True)
    torch.manual_seed(1)
    whole = gradients(encoder, x)
    torch.manual_seed(1)
    with recomputed(encoder.blocks):
        again = gradients(encoder, x)
    for a, b in zip(whole, again, strict=True):
        torch.testing.assert_close(a, b)


def test_less_is_kept() -> None:
    encoder, x = Encoder(16, 6, 2, 32), torch.randn(1, 300, 16, requires_grad=True)
    kept = peak_bytes(lambda: gradients(encoder, x))
    with recomputed(encoder.blocks):
        less = peak_bytes(lambda: gradients(encoder, x))
    assert less < 0.6 * kept


def test_they_may_be_nested_and_a_block_be_there_twice() -> None:
    encoder, x = Encoder(8, 2, 2, 16), torch.randn(1, 5, 8, requires_grad=True)
    whole = gradients(encoder, x)
    with recomputed([*encoder.blocks, encoder.blocks[0]]):
        with recomputed(encoder.blocks):
            torch.testing.assert_close(gradients(encoder, x), whole)
        assert all("forward" in vars(block) for block in encoder.blocks)
    assert not any("forward" in vars(block) for block in encoder.blocks)


def test_behind_the_block_all_is_as_it_was() -> None:
    encoder = Encoder(8, 2, 2, 16)
    with pytest.raises(RuntimeError, match="normalized_shape"), recomputed(encoder.blocks):
        encoder(Tokens(torch.zeros(1, 3, 7)))
    assert not any("forward" in vars(block) for block in encoder.blocks)
