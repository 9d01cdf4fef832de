"""The source `described-graphs`: drawn graphs with their descriptions, or the user's graphs or molecules with texts."""

import csv
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from zoo import DataError, InputError, ModelSpec
from zoo.data import DatasetInfo, Parts, by_text, complete, fingerprint, shown
from zoo.plugins.graph.descriptions.corpus import DescribedGraphs
from zoo.plugins.graph.descriptions.grammar import COLOURS, Described, draw_graphs
from zoo.plugins.graph.io.json_lines import of_line
from zoo.plugins.graph.io.smiles import of_smiles
from zoo.plugins.graph.requirements import RDKIT
from zoo.plugins.graph.sources import MOLECULES
from zoo.plugins.graph.structure.graph_inputs import GraphInputs
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer
from zoo.registry import require

SIZES = (8000, 300, 1000)
"""Graphs of training, validation and test."""
COMMAS = {".csv": ",", ".tsv": "\t"}


def open_described_graphs(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> DescribedGraphs:
    """Open drawn graphs, or a file: a `.jsonl` of graphs with a `text` each, a `.csv` or `.tsv` of `smiles` and `text`.

    Raises:
        DataError: If the file cannot be used.
    """
    if argument:
        return _of_file(Path(argument).expanduser(), spec, seed, tokenizer)
    train, validation, test = SIZES
    drawn, held = draw_graphs(sum(SIZES), seed), validation + test
    random.Random(f"parts {seed}").shuffle(drawn)  # since no two are alike, later ones are larger
    parts = Parts(drawn[held:], drawn[:validation], drawn[validation:held])
    chosen = choose_tokenizer(tokenizer, "word", [each.text for each in parts.train])
    told = f"`described-graphs` are {train:,} drawn graphs with their descriptions, and {test:,} others for the test."
    about = DatasetInfo("described-graphs", told, fingerprint(["2", str(seed), *map(str, SIZES), chosen.content]))
    return DescribedGraphs(about, spec, chosen, parts, {"node_features": [len(COLOURS)], "edge_features": 0})


def _of_file(path: Path, spec: ModelSpec, seed: int, tokenizer: str) -> DescribedGraphs:
    molecules = path.suffix in COMMAS
    if not molecules and path.suffix != ".jsonl":
        raise DataError(f"described-graphs:{path}: {path.suffix!r} is none of .jsonl, .csv, .tsv")
    if not path.is_file():
        raise DataError(f"described-graphs:{path}: there is no such file")
    if molecules:
        require(str(path), (RDKIT,))
    read = _molecules(path, COMMAS[path.suffix]) if molecules else _lines(path)
    examples = list(read)
    if not examples:
        raise DataError(f"{path} holds no graphs")
    told = f"`{path.name}` holds {len(examples):,} graphs with texts."
    features = MOLECULES if molecules else features_of(examples, str(path))
    return described(path.name, told, {"train": examples}, features, spec, seed, tokenizer)


def described(
    name: str,
    told: str,
    given: Mapping[str, list[Described]],
    features: Mapping[str, Any],
    spec: ModelSpec,
    seed: int,
    tokenizer: str,
) -> DescribedGraphs:
    """Make a corpus of graphs with texts; parts that are not given are drawn by a hash of the text.

    Args:
        name: of the data.
        told: of them, a sentence.
        given: examples of `train`, and of the parts that are set apart.
        features: `node_features` and `edge_features`, as keywords of the model.
        spec: of the model.
        seed: of the draw.
        tokenizer: as for `open_corpus`.
    """
    parts = complete(given, lambda each: each.text, seed, name, by_text)
    chosen = choose_tokenizer(tokenizer, "bpe:8000", [each.text for each in parts.train])
    texts = [f"{each.text} {_shape(each)}" for part in given.values() for each in part]
    ends = [f"{part} {len(given[part])}" for part in given if len(given) > 1]
    about = DatasetInfo(name, told, fingerprint([str(seed), chosen.content, *texts, *ends]))
    return DescribedGraphs(about, spec, chosen, parts, features)


def _lines(path: Path) -> Iterator[Described]:
    rows = [
        (number, line) for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if line.strip()
    ]
    for number, line in shown(rows, len(rows), f"reading {path.name}"):
        yield example_of(of_line, line, f"{path}:{number}", _text_of(line))


def _text_of(line: str) -> object:
    """Give the text of a line; None where it is no JSON, which the reader of graphs tells."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry.get("text") if isinstance(entry, dict) else None


def _molecules(path: Path, comma: str) -> Iterator[Described]:
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, delimiter=comma)
        if missing := {"smiles", "text"} - set(reader.fieldnames or ()):
            raise DataError(f"{path}:1: the header has no {' and no '.join(sorted(missing))}")
        rows = [(reader.line_num, row) for row in reader]
    for number, row in shown(rows, len(rows), f"reading {path.name}"):
        yield example_of(of_smiles, row["smiles"] or "", f"{path}:{number}", row["text"])


def example_of(read: Callable[[Any], GraphInputs], graph: Any, where: str, text: object) -> Described:
    """Make an example of a graph and a text.

    Raises:
        DataError: If one of them is none; the text says where.
    """
    try:
        return Described(read(graph), _text(text, where))
    except InputError as error:
        raise DataError(f"{where}: {error}") from error


def _text(text: object, where: str) -> str:
    if not isinstance(text, str) or not text.strip():
        raise DataError(f"{where}: a graph needs a text: text={text!r}")
    return text.strip()


def features_of(examples: Sequence[Described], name: str) -> dict[str, int]:
    """Count the channels of nodes and edges.

    Raises:
        DataError: If they are not the same in all graphs.
    """
    widths = {
        (each.graph.x.shape[1], 0 if each.graph.edge_attr is None else each.graph.edge_attr.shape[1])
        for each in examples
    }
    if len(widths) > 1:
        shown_widths = ", ".join(map(str, sorted(widths)))
        raise DataError(f"{name}: graphs with different numbers of features of nodes and edges: {shown_widths}")
    nodes, edges = widths.pop()
    return {"node_features": nodes, "edge_features": edges}


def _shape(each: Described) -> str:
    return f"{torch.as_tensor(each.graph.x).tolist()} {each.graph.edge_index.tolist()}"
