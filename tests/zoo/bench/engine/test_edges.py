"""The benchmark cases of attention on edges."""

from typing import Any

import pytest
import torch

from zoo.bench.engine import edges
from zoo.bench.engine.edges import HEAD_DIM, HEADS, Layer, random_graph
from zoo.core import Edges, attend

pytestmark = pytest.mark.usefixtures("float64")


def test_a_hub_has_its_share_of_the_edges() -> None:
    assert int((random_graph(1000, 500, hub=0.2)[1, :100] == 0).sum()) == 100


@pytest.mark.usefixtures("on_device")
def test_the_layer_computes_what_its_peer_does() -> None:
    conv: Any = pytest.importorskip("torch_geometric.nn").TransformerConv(HEADS * HEAD_DIM, HEAD_DIM, heads=HEADS)
    x, index = torch.randn(20, HEADS * HEAD_DIM), random_graph(20, 60, hub=0.2)
    torch.testing.assert_close(Layer(conv)(x, Edges(index, "each")), conv(x, index))


@pytest.mark.parametrize("step", [False, True])
def test_all_jobs_run_on_a_small_graph(step: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edges, "NODES", 20)
    attended: list[tuple[int, bool]] = []

    def watched(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, pattern: Edges) -> torch.Tensor:
        y = attend(q, k, v, pattern)
        attended.append((q.shape[1], y.requires_grad))
        return y

    monkeypatch.setattr(edges, "attend", watched)
    for job in (*edges.without_projections(60, step), *edges.against_peer(60, step), *edges.against_half(60)):
        job()
    assert attended == [(20, step), (20, step), (40, True), (20, True)]
