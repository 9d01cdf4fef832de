"""The benchmark cases of layers of linear cost, and of a Performer beside softmax attention."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from zoo.bench.recurrences import layers
from zoo.core.mechanisms.efficient.performer import Performer


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("HEADS", 2), ("HEAD_DIM", 4), ("FEATURES", 6), ("LONG", 9)):
        monkeypatch.setattr(layers, name, value)


@pytest.mark.parametrize("name", layers.LAYERS)
def test_a_layer_is_timed_at_twice_the_length_and_at_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read, make = [], layers.LAYERS[name]

    def watched(dim: int, heads: int) -> Any:
        made = make(dim, heads)
        made.register_forward_pre_hook(lambda _, given: read.append((given[0].x.shape[1], given[0].pattern)))
        return made

    monkeypatch.setitem(layers.LAYERS, name, watched)
    for job in layers.beside_half(name, 5):
        job()
    assert [length for length, _ in read] == [10, 5]
    assert all(type(pattern).__name__ == "Causal" for _, pattern in read)


def test_a_performer_is_timed_beside_softmax_attention_of_one_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = []
    mix = Performer.mix

    def full(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        shapes.append(q.shape)
        return scaled_dot_product_attention(q, k, v)

    def ours(self: Any, parts: tuple[Tensor, ...], valid: Tensor, causal: bool) -> Tensor:
        assert causal
        shapes.append(parts[0].shape)
        return mix(self, parts, valid, causal)

    monkeypatch.setattr(layers, "scaled_dot_product_attention", full)
    monkeypatch.setattr(Performer, "mix", ours)
    for job in layers.performer_beside_full():
        job()
    assert shapes == [torch.Size([1, 1, 9, 4])] * 2
