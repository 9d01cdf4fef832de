"""The benchmark cases of joined decoding."""

from typing import Any

import pytest

from zoo.plugins.joined.bench import decoding
from zoo.registry.lookup import registry


@pytest.mark.parametrize("place", [0, 1])
def test_both_have_the_same_sizes_and_write_as_many_tokens(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "NEW", 3)
    jobs: Any = decoding.CASES[place].build()
    found = [job() for job in jobs]
    assert [tuple(each.ids.shape) for each in found] == [(decoding.ROWS, 1, 3)] * 2
    assert [each.lengths.unique().tolist() for each in found] == [[3]] * 2
    models = [job.args[0] for job in jobs]
    sides = [(len(model.decoder.blocks), model.decoder.norm is not None) for model in models]
    assert sides[0] == sides[1]
    encoders = [models[0].stem.model.encoder, models[1].encoder]
    first, second = ([tuple(each.shape) for each in part.blocks.parameters()] for part in encoders)
    assert first == second != []


def test_the_suite_is_listed() -> None:
    (suite,) = [each for each in registry().suites if each.name == "joined"]
    assert suite.package == "zoo.plugins.joined.bench"
