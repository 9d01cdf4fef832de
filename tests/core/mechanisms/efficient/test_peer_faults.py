"""Faults of published efficient attention, shown by their formulas, and that we do not have them."""

import torch
from torch import Tensor
from torch.nn.functional import normalize
from torch.utils.flop_counter import FlopCounterMode

from zoo.core import Attention, Globals, Lengths, Tokens, Window, big_bird
from zoo.core.mechanisms.efficient.longformer import longformer
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


def places_read(order: list[int], chunk: int, place: int) -> set[int]:
    """Give what a place reads where a sorted row is cut into chunks, and each reads itself and the one before."""
    slot = order.index(place)
    first = slot // chunk * chunk
    before = [order[(first - chunk + offset) % len(order)] for offset in range(chunk)]
    return {*before, *order[first : first + chunk]}


@torch.no_grad()
def test_the_bucket_of_padding_changes_nothing_for_the_places_that_are_there() -> None:
    """Hugging Face's Reformer sorts padding behind all others (PR #5560): the first chunk looks back to it."""
    buckets = [1, 0, 1, 0]
    orders = [sorted(range(len(row)), key=row.__getitem__) for row in (buckets, [*buckets, 4, 4])]
    alone, padded = ({at for at in places_read(order, 2, 1) if at < 4} for order in orders)
    assert alone == {0, 1, 2, 3}
    assert padded == {1, 3}
    torch.manual_seed(0)
    layer, x = reformer("4", "2", "2")(8, 2).double(), torch.randn(1, 10, 8, dtype=torch.float64)
    mate = torch.randn(1, 12, 8, dtype=torch.float64)
    both = torch.cat([torch.cat([x, torch.full((1, 2, 8), 9.0, dtype=torch.float64)], 1), mate])
    torch.testing.assert_close(layer(Tokens(both, keys=Lengths(torch.tensor([10, 12]))))[:1, :10], layer(Tokens(x)))


@torch.no_grad()
def test_the_norm_of_a_key_of_a_reformer_does_not_matter_and_its_scores_do_not_grow() -> None:
    """The Long Range Arena's Reformer multiplies q·k by the root of d and norms no keys."""
    torch.manual_seed(0)
    layer = reformer("1", "1", "64")(8, 1).double()
    q, v = torch.randn(2, 1, 1, 6, 8, dtype=torch.float64)
    longer, others = q.clone(), [0, 1, 2, 4, 5]
    longer[:, :, 3] *= 3

    def published(q: Tensor) -> Tensor:
        return (q @ q.mT * 8**0.5).softmax(-1) @ v

    assert (published(longer) - published(q))[:, :, others].abs().max() > 1e-2
    there = torch.ones(1, 6, dtype=torch.bool)
    before, after = (layer.mix((x, v), there, False) for x in (q, longer))
    torch.testing.assert_close(after[:, :, others], before[:, :, others])
    own = torch.eye(6, dtype=torch.bool)
    weights = (q @ normalize(q, dim=-1).mT).masked_fill(own, -torch.inf).softmax(-1)  # no factor but 1 / |k|
    torch.testing.assert_close(before, weights @ v)


@torch.no_grad()
def test_a_reformer_of_twice_the_length_costs_twice_as_much() -> None:
    """The Long Range Arena's Reformer always has ten chunks, which grow with the row, so the cost is a square."""
    products = [10 * (length // 10) * 2 * (length // 10) for length in (640, 1280)]  # a chunk reads two of them
    assert products[1] == 4 * products[0]
    layer, counted = reformer("8", "1", "16")(8, 1), []
    for length in (640, 1280):
        with FlopCounterMode(display=False) as counter:
            layer(Tokens(torch.randn(1, length, 8)))
        counted.append(counter.get_total_flops())
    assert counted[1] < 2.1 * counted[0]


@torch.no_grad()
def test_a_global_place_of_a_causal_row_reads_nothing_that_comes_later() -> None:
    """xformers' GlobalAttention made its causal mask of the shape of one column, so it hid nothing (#1135)."""
    n = 8
    reads = torch.zeros(n, 1, dtype=torch.bool)
    reads[0] = True
    published = (reads | reads.mT) & torch.ones(reads.shape[1], reads.shape[1], dtype=torch.bool).tril()
    assert published.triu(1).any()
    torch.manual_seed(0)
    x = torch.randn(1, n, 8, dtype=torch.float64)
    later = torch.cat([x[:, :5], 9 * x[:, 5:]], 1)
    for layer in (Attention(8, 2, pattern=Window(1) | Globals((0, 3))), longformer("1", "0", "3")(8, 2)):
        layer = layer.double()
        before, after = (layer(Tokens(given, Causal())) for given in (x, later))
        assert torch.equal(before[:, :5], after[:, :5])
        assert not torch.allclose(before[:, 5:], after[:, 5:])


def random_blocks(reads: tuple[tuple[int, ...], ...]) -> list[set[int]]:
    """Give what each block between the second and the last but one reads besides its neighbours and the two ends."""
    last = len(reads) - 1
    return [set(row) - {0, last, at - 1, at, at + 1} for at, row in enumerate(reads)][2:-2]


@torch.no_grad()
def test_random_blocks_are_read_in_evaluation_as_in_training() -> None:
    """Hugging Face's BigBird draws none in evaluation: all stay 0, the block that every row reads anyway."""
    drawn = torch.zeros(16, 3, dtype=torch.long)  # what is left of it there
    assert not any(set(row) - {0} for row in drawn.tolist())
    pattern = big_bird(40, 2, randoms=3)
    assert all(len(found) == 3 for found in random_blocks(pattern.reads))
    torch.manual_seed(0)
    layer, x = Attention(8, 2, pattern=pattern).double(), torch.randn(1, 40, 8, dtype=torch.float64)
    torch.testing.assert_close(layer.train()(Tokens(x)), layer.eval()(Tokens(x)))
    weights = layer.weights(Tokens(x))[0, 0].unflatten(0, (20, 2)).unflatten(2, (20, 2)).sum((1, 3))
    for at, found in enumerate(random_blocks(pattern.reads), 2):
        assert bool((weights[at, sorted(found)] > 0).all())


def test_random_blocks_lie_anywhere_in_a_long_row() -> None:
    """The published BigBird draws them among the first 1,024 tokens (google-research/bigbird #18, HF #16566)."""
    blocks, randoms = 4096 // 64, 3
    published = [torch.randperm(1024 // 64 - 1)[:randoms] + 1 for _ in range(blocks)]
    assert max(int(found.max()) for found in published) < 16
    counts = torch.zeros(blocks)
    for seed in range(20):
        for found in random_blocks(big_bird(4096, 64, randoms=randoms, seed=seed).reads):
            counts[sorted(found)] += 1
    share = counts[16:].sum() / counts.sum()
    assert abs(share - 47 / 62) < 0.03  # all but the two ends are drawn alike
    assert counts[1:-1].min() > 0
