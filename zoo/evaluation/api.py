"""`zoo.evaluate`, the function. Imports no torch before it is called."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.errors import ConfigError, DataError
from zoo.names import did_you_mean
from zoo.registry.entry_loading import require
from zoo.spec import Requirement

if TYPE_CHECKING:
    from zoo.data.corpus import Corpus
    from zoo.evaluation.evaluation import Evaluation
    from zoo.evaluation.judge import Judge

NEEDS = (Requirement(module="sklearn", distribution="scikit-learn", install="attention-zoo[bench]"),)
SPLITS = ("train", "validation", "test")
ALL, GIVEN = "all", "given examples"
SAMPLES, LEAST, WORST, BATCH_SIZE = 1000, 10, 12, 64
"""Draws of the bootstrap, items of a group at least, examples that are shown, and examples answered together."""


def evaluate(
    run: Any,
    data: "str | Path | Corpus | Any" = None,
    *,
    columns: Mapping[str, str] | None = None,
    by: str | None = None,
    split: str = "test",
    samples: int = SAMPLES,
    seed: int = 0,
    least: int = LEAST,
    worst: int = WORST,
    batch_size: int | None = None,
    device: str = "cpu",
    int8: bool = False,
) -> "Evaluation":
    """Judge a trained model on data: every score of its task, with bootstrap intervals.

    Args:
        run: folder that `zoo train` wrote, `hf-hub:org/name`, a model with published weights, what `zoo.train` gave, or
            a model.
        data: as for `zoo.train`: a name, a path, a corpus, or examples, all of which are judged: a list of pairs
            (input, target), arrays `(X, y)`, a frame, a data set; those of the training if None.
        columns: of examples with named columns, the column of each role, such as `{"label": "species"}`.
        by: column of the user's table; its values are groups, which are judged one by one.
        split: `test`, `validation`, `train`, or `all` for every example.
        samples: draws of the bootstrap.
        seed: of the draws.
        least: items of a group that is judged.
        worst: examples with the worst answers that are shown.
        batch_size: examples that are answered together; as in the training by default.
        device: where the model computes.
        int8: whether the model computes with int8 weights.

    Raises:
        ConfigError: If a value does not fit, or the run cannot read the data.
        DataError: If the data cannot be read, have labels that the run lacks, or no example in the split.
        WeightsError: If a path holds no run.
        MissingLibraryError: If a library is not installed.
    """
    _check(split, samples, least, worst, batch_size or 1)
    require("zoo evaluate", NEEDS)
    from zoo.data.python.given import is_given
    from zoo.evaluation.collect import judged
    from zoo.evaluation.subject import Subject
    from zoo.evaluation.written_once import written_once

    subject = Subject.of(run, device, int8)
    given = is_given(data) if data is not None else False
    corpus: Any = subject.open(data, columns)
    batch_size = batch_size or int(subject.record.get("settings", {}).get("batch_size", BATCH_SIZE))
    whole = given and not isinstance(data, Mapping)  # each part is all of it
    splits = ["test"] if whole else [each for each in SPLITS if corpus.sizes.get(each)] if split == ALL else [split]
    if not all(corpus.sizes.get(each) for each in splits) or not splits:
        sizes = ", ".join(f"{name} {count:,}" for name, count in corpus.sizes.items())
        raise DataError(f"{corpus.name} has no example in {split!r}: {sizes}; --split names another part, or all")
    columns = _columns(corpus, by)
    subject.order_of(corpus)  # before anything is computed
    with written_once(subject.model):
        judge = judged(subject, corpus, splits, batch_size)
        if judge is None and by:
            raise ConfigError(f"by={by!r}: the data {corpus.name!r} judge no single examples, so there are no groups")
        cells = _cells(columns, by, judge)
        return _found(subject, corpus, judge, cells, splits, by=by, split=split, samples=samples, seed=seed,
                      least=least, worst=worst, batch_size=batch_size, named=GIVEN if given else data)  # fmt: skip


def _found(
    subject: Any, corpus: Any, judge: "Judge | None", cells: Sequence[Any], splits: Sequence[str], **given: Any
) -> "Evaluation":
    """Put scores, groups and examples together."""
    import numpy as np

    from zoo.data.batches.batched_corpus import evaluation_mode
    from zoo.evaluation.evaluation import Evaluation
    from zoo.evaluation.intervals import by_group, with_intervals
    from zoo.evaluation.report.worst import worst_of

    samples, seed = given["samples"], given["seed"]
    with evaluation_mode(subject.model):
        scored = splits == ["test"] or splits == ["validation"]
        own = corpus.score(subject.model, splits[0], given["batch_size"]) if scored and _fits(subject, corpus) else {}
    scores: Any = {}
    groups: Any = {}
    small: dict[str, int] = {}
    shown: list[Any] = []
    if judge is not None:
        scores = with_intervals(judge, np.arange(len(judge.items)), samples, seed)
        if given["by"]:
            groups, small = by_group(judge, cells, given["least"], samples, seed)
        shown = worst_of(judge, corpus, subject.model, subject.hook("preprocess"), given["worst"])
    return Evaluation(
        run=subject.name,
        model=subject.spec.name,
        data=corpus.name,
        split=given["split"],
        count=len(judge.items) if judge is not None else sum(corpus.sizes[each] for each in splits),
        scores=scores,
        own=own,
        by=given["by"],
        groups=groups,
        small=small,
        notes=_notes(subject, corpus, given["named"], given["split"]),
        judge=judge,
        cells=cells,
        worst=shown,
        settings={"samples": samples, "seed": seed, "least": given["least"]},
        held_out=given["split"] == "test" and subject.record.get("fingerprint") == corpus.fingerprint,
    )


def _fits(subject: Any, corpus: Any) -> bool:
    """Tell whether the data's own scores hold: where labels have the order that the run gives them."""
    order = subject.order_of(corpus)
    return bool(order == list(range(len(order))))


def _notes(subject: Any, corpus: Any, named: Any, split: str) -> list[str]:
    """Tell what the reader has to know."""
    from zoo.data.subsets import notes_of

    notes = list(notes_of(corpus))
    record = subject.record
    if "settings" not in record:
        notes.append(
            "The model has no record of its training, so that nobody knows how its data were split: examples that are "
            "judged may have been trained on."
        )
    same = record.get("fingerprint") == corpus.fingerprint
    if named in (None, record.get("data")) or same:
        if record and not same:
            notes.append(
                "The data are not as they were in the training, or are split in another way: examples that are judged "
                "may have been trained on."
            )
        elif split not in ("test", "validation"):
            notes.append("Examples of the training are among those judged: the scores are too good.")
        elif split == "validation":
            notes.append("The checkpoint was chosen on these examples: the scores are a little too good.")
    return notes


def _check(split: str, samples: int, least: int, worst: int, batch_size: int) -> None:
    if split not in (*SPLITS, ALL):
        raise ConfigError(f"split={split!r} is not one of {', '.join(SPLITS)}, {ALL}.{did_you_mean(split, SPLITS)}")
    for name, value, low in (
        ("samples", samples, 1),
        ("least", least, 1),
        ("worst", worst, 0),
        ("batch_size", batch_size, 1),
    ):
        if value < low:
            raise ConfigError(f"{name}={value}: at least {low} is needed")


def _columns(corpus: Any, by: str | None) -> Any:
    """Give the columns of the data, before anything is computed.

    Raises:
        ConfigError: If there are none, or not the one that is named.
    """
    if by is None:
        return None
    columns = getattr(corpus, "columns", None)
    if columns is None:
        raise ConfigError(
            f"by={by!r}: the data {corpus.name!r} have no named columns; tables do, such as csv:FILE, jsonl:FILE, "
            "parquet:FILE and hf:NAME, where the corpus of a plugin has `columns` of them"
        )
    if by not in columns.names:
        raise ConfigError(
            f"by={by!r}: {corpus.name} has no such column; it has {', '.join(columns.names)}."
            f"{did_you_mean(by, columns.names)}"
        )
    return columns


def _cells(columns: Any, by: str | None, judge: "Judge | None") -> list[Any]:
    if columns is None or by is None or judge is None:
        return []
    by_split = {split: columns.values(by, split) for split in dict.fromkeys(item.split for item in judge.items)}
    return [by_split[item.split][item.place] for item in judge.items]
