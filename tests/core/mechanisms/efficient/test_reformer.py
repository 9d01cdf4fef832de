"""A Reformer of one bucket is softmax attention with shared keys; several rounds are the softmax over their union."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from zoo.core import Causal, ConfigError, Tokens
from zoo.core.mechanisms.efficient.hashing import buckets_of
from zoo.core.mechanisms.efficient.reformer import ONESELF, reformer

X = torch.randn(2, 13, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def make(*arguments: str) -> Any:
    torch.manual_seed(0)
    return reformer(*arguments)(8, 2).double().eval()


def read_in(buckets: Tensor, size: int, i: int, j: int) -> bool:
    """Tell whether place i reads place j: one bucket, and the own chunk of it or the one before."""
    if buckets[i] != buckets[j]:
        return False
    of_i, of_j = (int((buckets[:place] == buckets[i]).sum()) // size for place in (i, j))
    return of_i - of_j in (0, 1)


def expected(layer: Any, x: Tensor, causal: bool) -> Tensor:
    """Compute the weights pair by pair: the softmax over the union of what the rounds read."""
    q = layer.heads(Tokens(x), Tokens(x).positions)[0].transpose(1, 2)
    n, buckets = x.shape[1], buckets_of(q, layer.rotations)
    scores = q @ normalize(q, dim=-1).mT
    scores = scores + ONESELF * torch.eye(n, dtype=x.dtype)
    for row, head in ((row, head) for row in range(len(x)) for head in range(2)):
        for i, j in ((i, j) for i in range(n) for j in range(n)):
            rounds = range(layer.rounds)
            union = any(read_in(buckets[row, head, number], layer.chunk, i, j) for number in rounds)
            if not union or (causal and j > i):
                scores[row, head, i, j] = -torch.inf
    return scores.softmax(-1)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("arguments", [("1", "1", "13"), ("2", "1", "3"), ("4", "3", "2"), ("6", "2", "64")])
@torch.no_grad()
def test_its_weights_are_the_softmax_over_the_union_of_all_rounds(arguments: tuple[str, ...], causal: bool) -> None:
    layer = make(*arguments)
    tokens = Tokens(X, Causal() if causal else None)
    torch.testing.assert_close(layer.weights(tokens), expected(layer, X, causal))


@torch.no_grad()
def test_one_bucket_in_one_chunk_is_softmax_attention_with_shared_queries_and_keys() -> None:
    layer = make("1", "1", "64")
    q, _ = layer.heads(Tokens(X), Tokens(X).positions)
    k = normalize(q, dim=-1)
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k).masked_fill(torch.eye(13).bool(), -torch.inf)
    torch.testing.assert_close(layer.weights(Tokens(X)), scores.softmax(-1))


@torch.no_grad()
def test_a_place_alone_in_its_bucket_reads_itself() -> None:
    torch.testing.assert_close(make("8", "2", "1").weights(Tokens(X[:, :1])), torch.ones(2, 2, 1, 1).double())


@torch.no_grad()
def test_rotations_are_saved_and_answers_do_not_change_between_calls() -> None:
    layer = make("4", "2")
    assert layer.state_dict()["rotations"].shape == (2, 2, 4, 2)
    for training in (True, False):
        layer.train(training)
        assert torch.equal(layer(Tokens(X)), layer(Tokens(X)))


def test_an_odd_number_of_buckets_is_refused() -> None:
    with pytest.raises(ConfigError, match="BUCKETS=3 is odd: a rotation gives pairs of them, so give an even number"):
        reformer("3", "2")(8, 2)
    with pytest.raises(ConfigError, match="ROUNDS='0' is no whole number from 1 on"):
        reformer("4", "0")
