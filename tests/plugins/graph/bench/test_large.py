"""The suite `graph`, and its case of a large graph."""

from typing import Any

import pytest

import zoo
from zoo.bench.speed.suite import find_cases
from zoo.plugins.graph.bench import large


def test_the_cases_are_listed_without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.create", None)
    found = find_cases("zoo.plugins.graph.bench")
    assert len({(case.name, case.peer) for case in found}) == len(found) == 14
    assert {case.target for case in found} == {0.35, 0.45, 0.5, 0.75, 1.0, 11}
    assert [case.name for case in find_cases("zoo.plugins.graph.bench", "10,000,000")] == [large.CASES[0].name]


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
