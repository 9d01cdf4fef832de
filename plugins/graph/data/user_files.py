"""The user's own graphs for `zoo train`: lines of JSON, or a table of SMILES and targets."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from zoo import DataError, ModelSpec
from zoo.data import DatasetInfo, Parts, Skipped, complete, fingerprint, list_skipped, names_of, parse
from zoo.plugins.graph.data.corpus import Example, GraphsCorpus, GraphTask
from zoo.plugins.graph.data.molecule_table import SPLITS, Table
from zoo.plugins.graph.io.json_lines import Row, read_lines, widths_of
from zoo.plugins.graph.sources import MOLECULES
from zoo.plugins.graph.structure.graph_inputs import GraphInputs
from zoo.plugins.graph.tokens.feature_encoders import Kinds

COMMAS = {".csv": ",", ".tsv": "\t"}
MANIFEST = "graphs.jsonl"


def open_graphs(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> GraphsCorpus:
    """Open a `.jsonl` of graphs, a `.csv` or `.tsv` of SMILES, or a folder with a graphs.jsonl.

    What cannot be read is left out, with one warning that counts and names it.

    Args:
        argument: the file; `?target=COLUMN` names columns of a table, separated by commas, and `split=random` parts
            molecules by chance instead of by scaffolds.
        spec: of the model.
        seed: of the split.
        tokenizer: none, there is no text.

    Raises:
        DataError: If nothing is left, or the rows do not fit each other.
        MissingLibraryError: If there are molecules and RDKit is not installed.
    """
    place, options = parse(argument, ("target", "split"))
    path = Path(place).expanduser()
    path = path / MANIFEST if path.is_dir() else path
    if options.get("split", SPLITS[0]) not in SPLITS:
        raise DataError(f"graphs:{argument}: split={options['split']!r} is not one of {', '.join(SPLITS)}")
    if path.suffix not in (".jsonl", *COMMAS):
        raise DataError(f"graphs:{argument}: {path.suffix!r} is none of .jsonl, .csv, .tsv, and no pickle is opened")
    text = _text(path)
    if path.suffix == ".jsonl":
        kind, rows, skipped, total = read_lines(path.name, text)
        _tell(path.name, len(rows), skipped, total)
        return _corpus(
            path.name, kind, [], complete({"train": rows}, lambda row: row.name, seed, path.name), spec, seed
        )
    wanted = [column for column in options.get("target", "").split(",") if column]
    table = Table(path.name, text, COMMAS[path.suffix], wanted)
    _tell(path.name, len(table.molecules), table.skipped, table.total)
    names = [] if table.kind == "class" else table.wanted
    return _corpus(path.name, table.kind, names, table.parts(options.get("split", SPLITS[0]), seed), spec, seed)


def _corpus(name: str, kind: str, names: Sequence[str], parts: Parts[Row], spec: ModelSpec, seed: int) -> GraphsCorpus:
    every = [row for part in parts for row in part]
    labels = list(names) or _labels(name, kind, [row.target for row in every])

    def target(row: Row) -> Tensor:
        if kind == "class":
            return torch.tensor(labels.index(row.target))
        if kind == "labels" and not names:
            return torch.tensor([float(label in row.target) for label in labels])
        if len(row.target) != len(labels):
            raise DataError(f"{name}, {row.name}: {len(row.target)} numbers, and {len(labels)} elsewhere")
        return torch.tensor(row.target)

    examples = {part: [Example(row.graph, target(row)) for row in rows] for part, rows in parts.by_name().items()}
    pieces = [f"{row.name} {row.target} {row.graph.edge_index.tolist()} {float(row.graph.x.sum())}" for row in every]
    about = DatasetInfo(name, f"`{name}` holds {len(every):,} graphs.", fingerprint([str(seed), *pieces]))
    return GraphsCorpus(about, spec, GraphTask("classify", kind, labels, *_features(every[0].graph)), examples)


def _labels(name: str, kind: str, targets: Sequence[Any]) -> list[str]:
    """Name classes, labels or numbers after their targets."""
    if kind == "class":
        return names_of(targets, name)
    if kind == "labels":
        return names_of((label for labels in targets for label in labels), name)
    return [f"target {place}" for place in range(len(targets[0]))]


def _features(graph: GraphInputs) -> tuple[Kinds, Kinds]:
    """Say what a model reads: categories of molecules, or numbers."""
    if graph.x.is_floating_point():
        return widths_of(graph)
    return MOLECULES["node_features"], MOLECULES["edge_features"]


def _tell(name: str, count: int, skipped: Sequence[Skipped], total: int) -> None:
    """Tell what is left out.

    Raises:
        DataError: If nothing is left.
    """
    if not count:
        raise DataError(f"{name}: no graph can be read. {list_skipped(skipped, total, 'graphs')}")
    if skipped:
        warnings.warn(list_skipped(skipped, total, "graphs"), stacklevel=3)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{str(path)!r} cannot be read: {error}") from error
