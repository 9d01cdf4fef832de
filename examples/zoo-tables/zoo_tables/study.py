"""`zoo bench rows-trees`: attention over cells and gradient boosting on the same rows, by number of training rows."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import mean
from typing import Annotated, Any

import typer

from zoo.bench import GridStudy, Report, ReportTable, numbers_in

TREES = "gradient-boosting"


def accuracy(config: Mapping[str, Any]) -> dict[str, Any]:
    """Train one of the two on some rows, of each class as many as its share; test both on the same rows."""
    import zoo
    from zoo.data import open_corpus

    data = open_corpus(config["data"], zoo.info("rows-tiny"), config["seed"])
    kept = drawn(data.parts["train"], config["size"], config["seed"])
    small = type(data)(data_info(data, len(kept)), data.spec, data.columns.names, {**data.parts, "train": kept})
    if config["method"] == TREES:
        return {"accuracy": boosted(small)}
    trained = zoo.train("rows-tiny", small, steps=config["steps"], seed=config["seed"])
    return {"accuracy": trained.scores["accuracy"]}


def drawn(rows: Sequence[tuple[str, ...]], size: int, seed: int) -> list[tuple[str, ...]]:
    """Draw rows with the shares of their classes, whatever the order of the file; one of each class at least."""
    from random import Random

    by_class: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for row in rows:
        by_class[row[-1]].append(row)
    placed = []
    for label, each in sorted(by_class.items()):
        Random(f"{seed} {label}").shuffle(each)
        placed += [(place / len(each), label, row) for place, row in enumerate(each)]
    return [row for *_, row in sorted(placed)[:size]]


def data_info(data: Any, rows: int) -> Any:
    """Name a part of the data."""
    from zoo.data import DatasetInfo

    return DatasetInfo(data.name, data.description, f"{data.fingerprint}-{rows}")


def boosted(data: Any) -> float:
    """Give the test accuracy of scikit-learn's histogram-based gradient boosting, with its usual settings.

    Rows whose label no training row has are not counted, as the score of the network does not count them.
    """
    import torch
    from sklearn.ensemble import HistGradientBoostingClassifier

    columns = data.columns
    is_category = [False] * len(columns.scales) + [True] * len(columns.categories)
    tables = {}
    for part in ("train", "test"):
        (numbers, ids), target = data.examples(part, range(data.sizes[part]), None)
        known = target >= 0
        tables[part] = (torch.cat([numbers, ids], 1)[known].double().numpy(), target[known].numpy())
    trees = HistGradientBoostingClassifier(categorical_features=is_category, random_state=0).fit(*tables["train"])
    return float(trees.score(*tables["test"]))


def runs(
    data: Annotated[str, typer.Option(help="Source, such as rows:FILE?target=COLUMN.")] = "rows-sample:1000",
    sizes: Annotated[str, typer.Option(help="Numbers of training rows, separated by commas.")] = "100,400",
    steps: Annotated[int, typer.Option(min=1, help="Optimizer steps of each training.")] = 200,
    seeds: Annotated[int, typer.Option(min=1, help="Splits, with a training on each.")] = 2,
) -> Iterator[dict[str, Any]]:
    """From how many rows on does attention over cells beat gradient boosting?"""
    for size in numbers_in(sizes, "--sizes"):
        for seed in range(seeds):
            same = {"data": data, "size": size, "seed": seed}
            yield {"method": TREES, **same}
            yield {"method": "rows-tiny", "steps": steps, **same}


def report(records: Sequence[Mapping[str, Any]]) -> Report:
    """Give the mean accuracy of each method and size, and who is ahead."""
    found: dict[tuple[int, str], list[float]] = defaultdict(list)
    for record in records:
        found[record["config"]["size"], record["config"]["method"]].append(record["accuracy"])
    rows = [[size, method, len(each), mean(each)] for (size, method), each in sorted(found.items())]
    table = ReportTable(
        name="accuracy", title="Test accuracy", columns=["rows", "method", "trainings", "accuracy"], rows=rows
    )
    lines = []
    for size in sorted({size for size, _ in found}):
        here = {method: score for at, method, _, score in rows if at == size}
        best = max(here, key=lambda method: here[method])
        lines.append(f"{size} rows: {best} is ahead, " + ", ".join(f"{m} {x:.3f}" for m, x in here.items()) + ".")
    return Report(lines=lines, tables=[table])


STUDY = GridStudy(name="rows-trees", work="zoo_tables.study:accuracy", configs=runs, report=report, unit="training")
