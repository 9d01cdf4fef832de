"""The table of products: its cases compute the same on both sides."""

import pytest
import torch

from zoo.bench.products.ways import by_onednn, drawn, forward, fused, gradients
from zoo.bench.speed.suite import find_cases
from zoo.core.ops import onednn
from zoo.core.ops.activations import gelu


def test_the_suite_names_each_way_and_shape() -> None:
    names = [case.name for case in find_cases("zoo.bench.products", "ViT-S")]
    assert len(names) == len(set(names))
    assert "ViT-S, MLP, 1,576 x 384 to 1,536: oneDNN with gelu" in names
    assert "ViT-S, MLP, 8 x 384 to 1,536: panels" in names


@pytest.mark.skipif(not onednn.works(), reason="PyTorch has no oneDNN here")
def test_both_sides_run() -> None:
    for built in (forward(3, 4, 5, by_onednn), fused(3, 4, 5, gelu), gradients(3, 4, 5)):
        assert isinstance(built, tuple)
        for job in built:
            assert callable(job)
            job()


def test_without_the_operator_the_table_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onednn, "works", lambda: False)
    assert fused(3, 4, 5, gelu) == gradients(3, 4, 5) == "oneDNN's operator is not there"


def test_the_same_numbers_are_drawn_each_time() -> None:
    assert all(map(torch.equal, drawn(3, 4, 5), drawn(3, 4, 5)))
