"""The benchmark cases of one layer on the edges."""

from functools import partial
from typing import Any

import pytest
import torch

from zoo.bench.engine.edges import HEAD_DIM, HEADS, random_graph
from zoo.plugins.graph.bench import layer

pytestmark = pytest.mark.usefixtures("float64")


@pytest.mark.usefixtures("on_device")
@pytest.mark.parametrize("peer", layer.MODELS)
def test_a_layer_and_its_peer_compute_the_same_function(peer: str) -> None:
    ours, theirs = layer.pair(peer)
    theirs_convs: Any = theirs.convs
    assert len(theirs_convs) == 1
    index = random_graph(30, 90, 0.2)
    x = torch.randn(30, HEADS * HEAD_DIM)
    torch.testing.assert_close(ours(x, index), theirs(x, index))


def noted(seen: list[Any], given: tuple[Any, ...]) -> Any:
    seen.append(given)
    return print


@pytest.mark.parametrize("step", [False, True])
def test_the_jobs_of_a_layer_run_on_one_graph(step: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layer, "NODES", 20)
    seen: list[Any] = []
    monkeypatch.setattr(layer, "job", lambda model, *given: noted(seen, given))
    for work in (layer.beside("GATConv", 40, step), layer.beside("TransformerConv", 40, step, 0.5)):
        assert len(work) == 2
    (x, index, wanted), (same, also, _), _, (_, hub, _) = seen
    assert x is same
    assert index is also
    assert (wanted, x.requires_grad) == (step, step)
    assert int((hub[1] == 0).sum()) >= 20


def test_ten_times_the_edges_stand_beside_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layer, "NODES", 20)
    monkeypatch.setattr(layer, "job", lambda model, x, index, step: partial(print, model, index.shape[1], step))
    seen: list[Any] = [job.args for job in layer.tenfold("TransformerConv", 7)]  # type: ignore[attr-defined]
    assert [(type(model).__name__, edges, step) for model, edges, step in seen] == [
        ("GraphModel", 70, True),
        ("GraphModel", 7, True),
    ]
