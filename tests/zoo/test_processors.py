import os

import pytest

from zoo.processors import available_memory, cores


def test_processors_are_those_of_the_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 5, 7}, raising=False)
    assert cores() == 3


def test_without_affinities_they_are_those_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert cores() == 6


def test_memory_that_can_be_used_is_told_where_the_system_tells() -> None:
    assert (available_memory() or 2**40) > 2**20
