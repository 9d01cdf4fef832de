"""Laws of copying: the mixture is its formula and sums to 1."""

import pytest
import torch

from zoo.core import CopyHead, InputError, NextToken, Tokens
from zoo.core.mechanisms.alignment.copying import AlignedTokens

IDS = torch.tensor([[4, 1, 4, 0], [2, 2, 2, 2]])


def aligned(total: float = 1.0) -> AlignedTokens:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 3, 5, generator=generator, dtype=torch.float64)
    weights = torch.rand(2, 3, 4, generator=generator, dtype=torch.float64)
    return AlignedTokens(x, weights=total * weights / weights.sum(-1, keepdim=True), ids=IDS)


@pytest.fixture
def head() -> CopyHead:
    torch.manual_seed(0)
    return CopyHead(NextToken(5, 6)).double()


@torch.no_grad()
def test_the_mixture_is_its_formula(head: CopyHead) -> None:
    tokens = aligned()
    assert tokens.weights is not None
    found = head(tokens).exp()
    for row in range(2):
        for step in range(3):
            x = tokens.x[row, step]
            p_gen = (head.share.weight[0] @ x + head.share.bias[0]).sigmoid()
            generated = (head.generate.matrix @ x).softmax(0)
            for word in range(6):
                copied = sum(tokens.weights[row, step, at] for at in range(4) if IDS[row, at] == word)
                torch.testing.assert_close(found[row, step, word], p_gen * generated[word] + (1 - p_gen) * copied)


@pytest.mark.parametrize("total", [1.0, 0.3, 0.0])
@torch.no_grad()
def test_the_mixture_sums_to_one_whatever_the_weights_sum_to(head: CopyHead, total: float) -> None:
    mass = head(aligned(total)).exp().sum(-1)
    torch.testing.assert_close(mass, torch.ones_like(mass))


def test_a_share_of_nothing_and_of_everything_has_finite_gradients(head: CopyHead) -> None:
    for bias in (-1e3, 1e3):
        head.zero_grad()
        torch.nn.init.constant_(head.share.bias, bias)
        head(aligned())[..., 5].sum().backward()  # a token that is not in the source
        assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in head.parameters())


def test_tokens_without_weights_are_refused(head: CopyHead) -> None:
    with pytest.raises(InputError, match="make the model a CopyingGenerator"):
        head(Tokens(torch.zeros(1, 2, 5, dtype=torch.float64)))
