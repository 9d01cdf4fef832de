"""Choose the learning rates of the default contestants on the default source, and keep them in the package.

`python -m zoo.bench.learning_curve.keep_rates` runs the pilot, and goes on from where it was stopped.
"""

import json
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from zoo.atomic_write import write_text
from zoo.bench.grid.results_store import Store
from zoo.bench.interruption import resumable
from zoo.bench.learning_curve.config import StudyConfig
from zoo.bench.learning_curve.execution import RunOptions, complete
from zoo.bench.learning_curve.plan import plan
from zoo.bench.learning_curve.progress import Progress
from zoo.bench.learning_curve.tuning import KEPT, entries, pilot_budget, pilot_runs
from zoo.locking import locked

COMMAND = "python -m zoo.bench.learning_curve.keep_rates"
OPTIMIZERS = ("muon-hidden", "adamw")
"""The default one and the control, each with rates of its own."""


def main(folder: Path = Path("runs/data-size-rates"), kept: Path = KEPT) -> None:
    """Run the pilot of each optimizer in a folder, and write the rates that it chooses."""
    found: list[dict[str, Any]] = []
    with resumable(folder, Console()), locked(folder):
        store = Store(folder)
        for optimizer in OPTIMIZERS:
            study, runs = plan(StudyConfig(optimizer=optimizer), folder, store.records.values())
            pilots = pilot_runs(runs, *pilot_budget(study.steps))
            found += entries(complete(pilots, store, RunOptions(), Progress()))
    write_text(kept, json.dumps({"command": COMMAND, "rates": found}, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
