"""Faults of published efficient attention, shown by their formulas, and that we do not have them."""

import torch

from zoo.core import Tokens
from zoo.core.mechanisms.efficient.nystrom import pseudo_inverse
from zoo.core.mechanisms.efficient.performer import performer
from zoo.core.mechanisms.efficient.random_features import orthogonal_rows
from zoo.core.mechanisms.efficient.reformer import reformer
from zoo.core.mechanisms.efficient.sinkhorn import sorted_blocks
from zoo.core.patterns.basic import Causal


def test_a_maximum_over_all_keys_leaks_and_a_running_one_does_not() -> None:
    """google-research/performer, lucidrains/performer-pytorch and idiap/fast-transformers take it over all places."""
    torch.manual_seed(0)
    layer = performer("64")(8, 1).double()
    q, k, v = torch.randn(3, 1, 1, 32, 8, dtype=torch.float64)
    greater, valid = k.clone(), torch.ones(1, 32, dtype=torch.bool)
    greater[:, :, -1] *= 6

    def published(keys: torch.Tensor) -> torch.Tensor:
        (of_q, a), (of_k, b) = ((x @ layer.directions.mT, x.square().sum(-1, keepdim=True) / 2) for x in (q, keys))
        of_q = (of_q - a - of_q.amax(-1, keepdim=True)).exp() + 1e-4
        of_k = (of_k - b - of_k.amax((-1, -2), keepdim=True)).exp() + 1e-4
        weights = (of_q @ of_k.mT).tril()
        return weights / weights.sum(-1, keepdim=True) @ v

    theirs = (published(greater) - published(k))[:, :, :-1]
    assert theirs.square().mean() > 0.01 * published(k).square().mean()
    ours = [layer.mix((q, keys, v), valid, True)[:, :, :-1] for keys in (k, greater)]
    assert torch.equal(*ours)


def test_directions_without_the_signs_of_the_decomposition_give_a_biased_kernel() -> None:
    """Google's code, and performer-pytorch unless `qr_uniform_q=True`."""
    torch.manual_seed(0)
    count, d = 20_000, 8
    x, y = torch.randn(2, d, dtype=torch.float64)
    x, y = x / x.norm() * 0.8, y / y.norm() * 0.8
    unsigned = torch.linalg.qr(torch.randn(count, d, d, dtype=torch.float64))[0].mT.flatten(0, 1)
    unsigned = unsigned * torch.randn(count * d, d, dtype=torch.float64).norm(dim=1, keepdim=True)

    def shares(directions: torch.Tensor) -> torch.Tensor:
        return (directions @ (x + y) - (x.square() + y.square()).sum() / 2 - x @ y).exp().unflatten(0, (-1, d)).mean(1)

    theirs, ours = shares(unsigned), shares(orthogonal_rows(count * d, d).double())
    assert abs(theirs.mean() - 1) > 8 * theirs.std() / count**0.5
    assert abs(ours.mean() - 1) < 4 * ours.std() / count**0.5


def test_an_inverse_that_starts_from_the_norm_of_the_batch_depends_on_batch_mates() -> None:
    """mlpen/Nystromformer ("original") and lucidrains/nystrom-attention take the greatest of batch and heads."""
    torch.manual_seed(0)
    row = torch.randn(1, 1, 6, 6, dtype=torch.float64).softmax(-1)
    sharper = torch.zeros_like(row)
    sharper[..., 0] = 1  # the columns' greatest sum is 6

    def published(a: torch.Tensor) -> torch.Tensor:
        z = a.mT / (a.sum(-1).max() * a.sum(-2).max())
        one = torch.eye(6, dtype=a.dtype)
        for _ in range(6):
            az = a @ z
            z = z @ (13 * one - az @ (15 * one - az @ (7 * one - az))) / 4
        return z

    pair = torch.cat([row, sharper])
    assert (published(pair)[0] - published(row)[0]).abs().max() > 1e-2
    assert torch.equal(pseudo_inverse(pair, 6)[0], pseudo_inverse(row, 6)[0])


def test_blocks_that_are_sorted_depend_on_the_permutation() -> None:
    """The Long Range Arena's einsum sums the places of the permutation and the blocks apart."""
    x = torch.randn(1, 1, 3, 2, 4)
    orders = [torch.eye(3)[order][None, None] for order in ([0, 1, 2], [2, 0, 1])]
    theirs = [torch.einsum("bhskd,bhnl->bhnkd", x, order) for order in orders]
    assert torch.equal(*theirs)
    ours = [sorted_blocks(order, x) for order in orders]
    assert not torch.equal(*ours)


@torch.no_grad()
def test_the_chunks_of_a_causal_reformer_do_not_move_with_later_tokens() -> None:
    """In chunks of the sorted row, a later token in an earlier bucket moves the borders of the others."""
    buckets = torch.tensor([1, 1, 1, 1, 0])
    sorted_places = [buckets[:n].argsort(stable=True).tolist() for n in (4, 5)]
    theirs = [{place: slot // 2 for slot, place in enumerate(order)} for order in sorted_places]
    assert [theirs[0][place] for place in range(4)] != [theirs[1][place] for place in range(4)]
    torch.manual_seed(0)
    layer, x = reformer("4", "1", "2")(8, 2).double(), torch.randn(1, 12, 8, dtype=torch.float64)
    whole = layer(Tokens(x, Causal()))
    for n in range(1, 12):
        torch.testing.assert_close(layer(Tokens(x[:, :n], Causal())), whole[:, :n])
