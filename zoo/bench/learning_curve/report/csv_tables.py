"""The runs of a study as CSV: in full, and as learning curves in the layout of LCDB."""

from statistics import fmean
from typing import Any

from zoo.bench.decision.class_scores import recalls
from zoo.bench.grid.engine import Record
from zoo.bench.learning_curve.results.compute import operations
from zoo.bench.learning_curve.results.entries import ModelEntry, score_of
from zoo.bench.learning_curve.results.study import Study
from zoo.bench.learning_curve.training.tested import unpack, unpack_classes
from zoo.bench.study.report import csv_text

_COLUMNS = ("model", "size", "seed", "steps", "accuracy", "validation", "best_step", "seconds", "examples_per_second",
            "parameters", "multiply_adds", "learning_rate", "precision", "device", "threads", "error",
            "operations", "balanced_accuracy", "worst_class", "worst_class_accuracy", "log_loss")  # fmt: skip
LCDB = ("openmlid", "learner", "size_train", "size_test", "outer_seed", "inner_seed", "traintime", "score_train",
        "score_valid", "score_test")  # fmt: skip
"""Columns of `database-accuracy.csv` of LCDB 1.0 (github.com/fmohr/lcdb, `convert_raw_df_into_final_df`)."""


def results_csv(study: Study) -> str:
    """Write a line for each run, failed ones too, with what its record holds."""
    score = "accuracy" if study.data.metric == "accuracy" else "score"
    columns = [score if column == "accuracy" else column for column in _COLUMNS]
    entries = {entry.name: entry for entry in study.models}
    rows = ({**record, **_derived(study, entries[record["config"]["model"]], record)} for record in study.records)
    return csv_text(columns, ({**row["config"], **row} for row in rows))


def curves_csv(study: Study) -> str:
    """Write a line for each finished run in the columns of `LCDB`, which its `get_curve_from_dataframe` reads.

    What differs: `openmlid` is the name of the data; `outer_seed`, which there splits off the test examples, is 0,
    since all runs have one split; `inner_seed` is the run's seed, which chooses the subset, the weights and the order;
    `traintime` are the seconds of the training steps; `score_train` is empty, since no training example is scored;
    `size_test` is empty where single examples have no score. Losses are positive.
    """
    shown = study.data.shown
    return csv_text(
        LCDB,
        (
            {
                "openmlid": study.data.name,
                "learner": record["config"]["model"],
                "size_train": record["config"]["size"],
                "size_test": record.get("correct", {}).get("count"),
                "outer_seed": 0,
                "inner_seed": record["config"]["seed"],
                "traintime": record.get("seconds"),
                "score_valid": shown(record["validation"]) if "validation" in record else None,
                "score_test": shown(score_of(record)),
            }
            for record in study.records
            if "error" not in record
        ),
    )


def _derived(study: Study, entry: ModelEntry, record: Record) -> dict[str, Any]:
    """Give what follows from a record: operations of the training, balanced accuracy, and the run's worst class."""
    if "error" in record:
        return {}
    found: dict[str, Any] = {"operations": operations(study, entry, record)}
    if "classes" in record:
        shares = recalls(unpack(record["correct"]), unpack_classes(record["classes"]))
        worst = min(shares, key=lambda each: shares[each])
        found["balanced_accuracy"] = fmean(shares.values())
        found |= {"worst_class": study.data.class_name(worst), "worst_class_accuracy": shares[worst]}
    return found
