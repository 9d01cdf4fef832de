"""The suite `joined`: a joined model and a whole one that write the same."""

from typing import Any

import pytest

from zoo.bench.speed.suite import find_cases
from zoo.plugins.joined.bench import writing
from zoo.registry.lookup import registry


def test_the_suite_is_listed_without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.create", None)
    found = registry().suites.get("joined")
    assert found is not None
    (case,) = find_cases(found.package)
    assert case.target == 1.05


def test_both_write_as_many_tokens_with_as_large_an_encoder_and_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "NEW", 3)
    jobs: tuple[Any, Any] = writing.writers()
    for job in jobs:
        found = job()
        assert found.lengths.flatten().tolist() == [3] * writing.ROWS
    joined, whole = (job.args[0] for job in jobs)
    assert len(joined.stem.model.encoder.blocks) == len(whole.encoder.blocks)
    sizes = [sum(each.numel() for each in stack.parameters()) for stack in (joined.decoder, whole.decoder)]
    assert sizes[0] == sizes[1]
