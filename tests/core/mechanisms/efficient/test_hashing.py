"""Hashing brings near vectors together, and a layout moves nothing for what comes later."""

import pytest
import torch

from zoo.core.mechanisms.efficient.hashing import Layout, buckets_of


def test_the_probability_of_one_bucket_falls_with_the_angle() -> None:
    torch.manual_seed(0)
    angles = torch.tensor([0.0, 0.3, 0.8, 1.5, 3.1])
    vectors = torch.stack([angles.cos(), angles.sin(), *torch.zeros(2, 5)], -1)[None, None]
    buckets = buckets_of(vectors, torch.randn(4000, 1, 4, 4))[0, 0]
    together = (buckets == buckets[:, :1]).double().mean(0).tolist()
    assert together[0] == 1
    assert together == sorted(together, reverse=True)
    assert together[-1] < 0.02
    assert buckets.max() == 7


def test_without_columns_there_is_one_bucket() -> None:
    assert not buckets_of(torch.randn(1, 2, 5, 4), torch.zeros(3, 2, 4, 0)).any()


@pytest.mark.parametrize("size", [1, 3, 20])
def test_a_chunk_holds_vectors_of_one_bucket_in_order_and_each_vector_once(size: int) -> None:
    torch.manual_seed(0)
    buckets = torch.randint(4, (1, 1, 2, 17))
    layout = Layout.of(buckets, 4, size)
    for number in range(2):
        found = []
        for chunk in layout.place[0, 0, number].tolist():
            members = [place for place in chunk if place < 17]
            assert members == sorted(members)
            assert len({int(buckets[0, 0, number, place]) for place in members}) <= 1
            found += members
        assert sorted(found) == list(range(17))
        slots = layout.place[0, 0, number].flatten()
        assert slots[layout.slot[0, 0, number]].tolist() == list(range(17))
    cut = Layout.of(buckets[..., :9], 4, size)
    same = buckets[..., :9, None] == buckets[..., None, :9]
    steps, before = (x.group[..., :9, None] - x.group[..., None, :9] for x in (layout, cut))
    assert torch.equal(steps[same], before[same])
