"""Choose the learning rates of the contestants on sources that need no download, and keep them in the package.

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
from zoo.bench.learning_curve.plan import plan, quick
from zoo.bench.learning_curve.progress import Progress
from zoo.bench.learning_curve.training.tuning import KEPT, MOST_SEEDS, entries, pilot_budget, pilot_runs
from zoo.locking import locked
from zoo.registry.lookup import registry

COMMAND = "python -m zoo.bench.learning_curve.keep_rates"
OPTIMIZERS = ("muon-hidden", "adamw")
"""The default one and the control, each with rates of its own."""


def studies() -> list[StudyConfig]:
    """List the studies whose rates are kept: the default one, its control, and the quick one of every modality.

    Quick ones are kept since a pilot would take longer than the rest of them.
    """
    default = [StudyConfig(optimizer=optimizer) for optimizer in OPTIMIZERS]
    named = [StudyConfig(models=each.models, data=each.data, seeds=MOST_SEEDS) for each in registry().comparisons]
    return [*default, *map(quick, named)]


def main(folder: Path = Path("runs/data-size-rates"), kept: Path = KEPT) -> None:
    """Run the pilot of each study in a folder, and write the rates that it chooses."""
    found: list[dict[str, Any]] = []
    with resumable(folder, Console()), locked(folder):
        store = Store(folder)
        for config in studies():
            study, runs = plan(config, folder, store.records.values())
            pilots = pilot_runs(runs, pilot_budget(study.steps, study.seeds))
            found += entries(complete(pilots, store, RunOptions(), Progress()))
    write_text(kept, json.dumps({"command": COMMAND, "rates": found}, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
