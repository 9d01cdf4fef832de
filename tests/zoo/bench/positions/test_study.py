"""`zoo bench positions`."""

from pathlib import Path

import pytest

from zoo.bench.positions.study import POSITIONS, STUDY, runs
from zoo.errors import ConfigError


def test_every_encoding_has_the_same_budget() -> None:
    budgets = [{key: value for key, value in config.items() if key != "position"} for config in runs()]
    assert len(budgets) == 3 * len(POSITIONS)
    assert all(budgets.count(budget) == len(POSITIONS) for budget in budgets)


def test_what_is_not_added_to_tokens_is_refused() -> None:
    with pytest.raises(ConfigError, match="--positions rotary: those that are added to tokens are sinusoidal"):
        list(runs(positions="learned,rotary"))


def test_the_study_runs_and_draws_a_panel_for_each(tmp_path: Path) -> None:
    STUDY.run(tmp_path, positions="sinusoidal,learned,none", length=6, steps=2, seeds=1, workers=0, progress=False)
    assert {"scores.csv", "positions.png", "positions.svg"} <= {path.name for path in tmp_path.iterdir()}
    rows = (tmp_path / "scores.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["position", "sinusoidal", "learned", "none"]
