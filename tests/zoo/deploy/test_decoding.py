from typing import Any

import pytest
import torch

import zoo
from zoo.deploy.decoding import Decode, Encode

SIZE: dict[str, Any] = {"depth": 2, "dim": 32, "num_heads": 2, "mlp_dim": 32}


@torch.no_grad()
def test_steps_give_the_scores_of_the_whole() -> None:
    model: Any = zoo.create("decoder-tiny", **SIZE).eval()
    (ids, *_), decode = zoo.example("decoder-tiny", 2), Decode(model)
    whole = model(ids)
    mask = torch.ones(2, 7, dtype=torch.bool)
    _, *cache = decode(ids[:, :5], mask[:, :5], *decode.empty(2))
    for last in (5, 6):
        scores, *cache = decode(ids[:, last : last + 1], mask[:, : last + 1], *cache)
        torch.testing.assert_close(scores, whole[:, last], rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_padding_in_front_changes_no_score() -> None:
    model: Any = zoo.create("decoder-tiny", **SIZE).eval()
    (ids, *_), decode = zoo.example("decoder-tiny", 1), Decode(model)
    row = ids[:, :4]
    alone, *_ = decode(row, torch.ones(1, 4, dtype=torch.bool), *decode.empty(1))
    padded = torch.cat([torch.full((1, 2), 7), row], 1)
    mask = torch.tensor([[False, False, True, True, True, True]])
    found, *cache = decode(padded, mask, *decode.empty(1))
    torch.testing.assert_close(found, alone)
    more = torch.ones(1, 1, dtype=torch.bool)
    step, *_ = decode(ids[:, 4:5], torch.cat([mask, more], 1), *cache)
    torch.testing.assert_close(step, model(ids[:, :5])[:, 4], rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_a_source_is_read_once_and_its_padding_not_at_all() -> None:
    model: Any = zoo.create("transformer-tiny", **SIZE).eval()
    source, lengths, target = zoo.example("transformer-tiny", 2)
    decode = Decode(model)
    mask, *kept = Encode(model)(source, lengths)
    assert mask.sum(1).tolist() == lengths.tolist()
    there = torch.ones(target.shape, dtype=torch.bool)
    _, *cache = decode(target[:, :-1], there[:, :-1], *decode.empty(2), mask, *kept)
    scores, *_ = decode(target[:, -1:], there, *cache, mask, *kept)
    torch.testing.assert_close(scores, model(source, lengths, target)[:, -1], rtol=1e-4, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("decoder", ["bert-micro", "decoder-tiny"])
def test_steps_behind_graphs_of_unequal_size_give_the_scores_of_the_whole(decoder: str) -> None:
    model: Any = zoo.create(f"joined:graph-tiny+{decoder}", depth=1).eval()
    *graphs, target = zoo.example(f"joined:graph-tiny+{decoder}", 3)
    decode = Decode(model)
    mask, *kept = Encode(model)(*graphs)
    assert mask.sum(1).tolist() == graphs[-1].bincount().tolist()
    there = torch.ones(target.shape, dtype=torch.bool)
    _, *cache = decode(target[:, :-1], there[:, :-1], *decode.empty(3), mask, *kept)
    scores, *_ = decode(target[:, -1:], there, *cache, mask, *kept)
    torch.testing.assert_close(scores, model(*graphs, target)[:, -1], rtol=1e-4, atol=1e-5)
