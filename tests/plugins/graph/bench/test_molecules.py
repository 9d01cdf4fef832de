"""The benchmark cases of molecules."""

from functools import cache
from typing import Any

import pytest
import torch

import zoo
from zoo.data import Corpus, open_corpus
from zoo.plugins.graph.bench import molecules


@cache
def opened(data: str, model: str) -> Corpus:
    """Read the molecules once for all tests."""
    return open_corpus(data, zoo.info(model))


@pytest.fixture(autouse=True)
def _read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(molecules, "open_corpus", lambda data, spec: opened(data, spec.name))


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
        before = model.encoder.blocks[0].norm2.weight.detach().clone()
        job()
        assert not model.encoder.blocks[0].norm2.weight.equal(before)
        assert (seen[0] is batch[1]) is not new
        assert seen[0].equal(batch[1])
