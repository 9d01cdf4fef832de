"""`zoo bench speed --suite graph`: its works are listed without being built, and both sides compute the same."""

from functools import partial
from typing import Any

import pytest
import torch

import zoo
from zoo.bench.engine.edges import HEAD_DIM, HEADS, random_graph
from zoo.bench.graph import large, layer, molecules
from zoo.bench.speed import suite
from zoo.bench.speed.case import Work
from zoo.bench.speed.suite import cells, measure, works


def test_the_works_are_listed_without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.create", None)
    found = works("graph")
    assert len({(work.name, work.peer) for work in found}) == len(found) == 14
    assert {work.target for work in found} == {0.35, 0.45, 0.5, 0.6, 1.0, 11}
    assert [work.name for work in works("graph", "10,000,000")] == [large.WORKS[0].name]


@pytest.mark.parametrize("peer", layer.MODELS)
def test_a_layer_and_its_peer_compute_the_same_function(peer: str) -> None:
    ours, theirs = layer.pair(peer)
    theirs_convs: Any = theirs.convs
    assert len(theirs_convs) == 1
    index = random_graph(30, 90, 0.2)
    x = torch.randn(30, HEADS * HEAD_DIM)
    torch.testing.assert_close(ours(x, index), theirs(x, index), atol=1e-5, rtol=0)


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


def test_molecules_are_real_ones() -> None:
    (x, index, attr, batch), numbers = molecules.molecules(128)
    assert int(batch[-1]) == 127
    assert batch[index[0]].equal(batch[index[1]])
    assert len(attr) == index.shape[1]
    assert bool((x < torch.tensor(zoo.info(molecules.NAME).config["node_features"])).all())
    assert numbers.shape == (128, 1)
    assert len(numbers.unique()) > 100


def test_both_models_of_molecules_compute_the_same_function() -> None:
    ours, theirs = molecules.pair()
    batch, _ = molecules.molecules(3)
    torch.testing.assert_close(ours(*batch), theirs(*batch), atol=1e-5, rtol=0)
    assert {each.data_ptr() for each in ours.parameters()}.isdisjoint(each.data_ptr() for each in theirs.parameters())


@pytest.mark.parametrize("new", [False, True])
def test_a_step_trains_both_and_the_graph_is_new_if_asked(new: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(molecules, "MOLECULES", 3)
    for job in molecules.jobs(new):
        model, _, batch = job.args[:3]  # type: ignore[attr-defined]
        seen: list[Any] = []
        model.register_forward_pre_hook(lambda _, given, seen=seen: seen.append(given[1]))
        before = model.encoder.blocks[0].mlp.up.weight.detach().clone()
        job()
        assert not model.encoder.blocks[0].mlp.up.weight.equal(before)
        assert (seen[0] is batch[1]) is not new
        assert seen[0].equal(batch[1])


def test_a_step_on_a_graph_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    create = zoo.create

    def small(name: str, **options: Any) -> Any:
        made.append(create(name, **options, dim=8, depth=1, num_heads=2, mlp_dim=8))
        made.append([each.detach().clone() for each in made[0].parameters()])
        return made[0]

    monkeypatch.setattr("zoo.create", small)
    large.train(40, 200)
    model, before = made
    assert not any(p.equal(old) for p, old in zip(model.parameters(), before, strict=True))


def test_a_machine_without_the_memory_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "LIMIT", 2**60)
    assert str(large.job()).startswith("this machine has ")


def test_a_process_is_measured_against_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "resident_bytes", lambda job: job() * 10**6)
    (row,) = measure([Work("a step", "16 MB", 1.0, build=lambda: (lambda: 12, 16e6), memory=True)], [1, 2])
    assert cells(row)[2:] == ["-", "12 MB", "16 MB", "0.75", "1", "yes"]
