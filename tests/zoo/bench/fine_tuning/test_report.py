"""The report says whether pretraining helps, and whether a probe is enough."""

from typing import Any

import numpy as np

from zoo.bench.fine_tuning.report import _enough, report


def record(way: str, seed: int, accuracy: float, each: int = 5) -> dict[str, Any]:
    right = np.random.default_rng(seed).random(200) < accuracy
    correct = "".join("1" if one else "0" for one in right)
    return {
        "config": {"way": way, "each": each, "seed": seed},
        "accuracy": float(right.mean()),
        "correct": correct,
        "seconds": 1.0,
        "trained": 10,
    }


def made(**accuracies: float) -> Any:
    return report([record(way.replace("_", " "), seed, at) for way, at in accuracies.items() for seed in range(3)])


def test_a_wide_interval_leaves_open_whether_a_probe_is_enough() -> None:
    assert _enough("whole", -0.02, 0.2) == "it is open whether a probe is enough: whole may be better"
    assert _enough("whole", -0.02, 0.01).startswith("a probe is enough: whole is no better")
    assert _enough("whole", 0.01, 0.2) == "a probe is not enough: whole is better"


def test_where_pretraining_helps_and_the_probe_is_enough_it_is_said() -> None:
    found = made(from_scratch=0.3, probe=0.8, whole=0.78)
    assert "pretraining helps" in found.lines[0]
    assert "a probe is enough" in found.lines[1]
    assert [row[0] for row in found.tables[0].rows] == ["from scratch", "probe", "whole"]
    assert list(found.figures) == ["fine-tuning"]


def test_where_it_does_not_nothing_is_claimed() -> None:
    found = made(from_scratch=0.5, probe=0.5, whole=0.95)
    assert "pretraining helps" in found.lines[0]
    assert "a probe is not enough: whole is better" in found.lines[1]
    assert "is open" in made(from_scratch=0.5, probe=0.5).lines[0]


def test_ways_are_compared_on_the_examples_of_the_same_seeds() -> None:
    by_seed = {"from scratch": (0.3, 0.5, 0.7), "whole": (0.4, 0.6, 0.8)}
    records = [record(way, seed, at) for way, accuracies in by_seed.items() for seed, at in enumerate(accuracies)]
    (line,) = report(records).lines
    assert "pretraining helps" in line
    assert float(line.rpartition("±")[2].strip(" ).")) < 0.06
    assert float(line.partition("±")[2].split(",")[0]) > 0.15
