"""Pairs of a graph and what is predicted that a program gives: PyG, networkx, tensors, lines of JSON and SMILES."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from zoo import DataError, InputError, ModelSpec
from zoo.data import Pairs, cached_file, described_item, fingerprint, is_pair, label_cell
from zoo.plugins.graph.data.corpus import GraphsCorpus
from zoo.plugins.graph.data.labelled_nodes import LABELS, open_labelled_nodes
from zoo.plugins.graph.data.masked_nodes import is_masked, open_masked_nodes
from zoo.plugins.graph.data.molecule_table import open_table
from zoo.plugins.graph.data.storage.graph_files import LinesFile
from zoo.plugins.graph.data.user_files import corpus_of
from zoo.plugins.graph.io.json_lines import is_line, of_line
from zoo.plugins.graph.io.networkx_graphs import is_network, of_network
from zoo.plugins.graph.structure.graph_inputs import GraphInputs, read


def open_pairs(pairs: Pairs, spec: ModelSpec, seed: int, tokenizer: str) -> GraphsCorpus:
    """Make a corpus of pairs (graph, target), or of PyG's `Data` whose `y` is the target.

    A graph is a `Data`, a tuple of tensors (x, edge_index[, edge_attr]), a graph of networkx, a line of JSON, or a
    molecule as SMILES. A target is a name or a whole number: a class; fractions: numbers; or a list of names: a label
    for each node. One `Data` alone may have `train_mask`, `val_mask` and `test_mask` of its nodes. Of molecules, any
    numbers are numbers, and 0 and 1 labels, as in a table.

    Raises:
        DataError: If an item is no such pair, or a graph cannot be read.
    """
    first = pairs.first()[0]
    if is_masked(first):
        return open_masked_nodes(pairs, spec)
    if is_pair(first) and isinstance(first[0], str) and not is_line(first[0]):
        if isinstance(first[1], str):  # a table of texts does not say which of them is predicted
            pairs = replace(pairs, options={"target": "target", **pairs.options})
        return open_table(pairs.table(smiles=_smiles, target=_target), spec, seed, tokenizer)
    lines = {part: [*map(_line, _examples(pairs, part))] for part in pairs.parts}
    if LABELS in json.loads(lines["train"][0]):
        return open_labelled_nodes(pairs.name, lines, spec, seed)
    every = [line for part in lines.values() for line in part]
    file = cached_file(f"tables/graphs-{fingerprint(every)}.jsonl", lambda path: _write(path, every))
    ends = np.cumsum([len(part) for part in lines.values()])
    parts = [*lines]

    def given(line: int) -> str:
        return parts[int(np.searchsorted(ends, line - 1, side="right"))]

    return corpus_of(pairs.name, LinesFile(file), [], [], "random", spec, seed, given if len(parts) > 1 else None)


def _examples(pairs: Pairs, part: str) -> Iterator[tuple[Any, Any, str]]:
    """Give graph and target of each example; of a `Data` alone, its `y`."""
    for item, _, place in pairs.inputs(part):
        if is_pair(item):
            yield item[0], item[1], place
        elif getattr(item, "y", None) is not None and hasattr(item, "edge_index"):
            yield item, item.y, place
        else:
            raise DataError(f"{place} is {described_item(item)}: a pair (graph, target) or a Data with y is wanted")


def _line(example: tuple[Any, Any, str]) -> str:
    graph, target, place = example
    try:
        found = opened(graph)
    except InputError as error:
        raise DataError(f"{place}: {error}") from error
    entry: dict[str, Any] = {"nodes": len(found.x), "edges": found.edge_index.t().tolist()}
    if found.x.shape[1]:
        entry["x"] = found.x.float().tolist()
    if found.edge_attr is not None:
        entry["edge_attr"] = found.edge_attr.float().tolist()
    return json.dumps(entry | _told(target, len(found.x), place), ensure_ascii=False)


def opened(graph: Any) -> GraphInputs:
    """Read a graph that a program gives, other than a molecule.

    Raises:
        InputError: If it is none.
    """
    if isinstance(graph, str):
        return of_line(graph)
    if is_network(graph):
        return of_network(graph, 0, 0)
    return read(graph if isinstance(graph, tuple) else (graph,))


def _told(target: Any, nodes: int, place: str) -> dict[str, Any]:
    """Give the key of a target of a line of JSON, and its value."""
    if isinstance(target, Tensor | np.ndarray):
        target = target.squeeze().tolist() if target.ndim and target.size != 0 else target.item()
    if isinstance(target, list | tuple):
        if all(isinstance(each, float) for each in target):
            return {"target": list(target)}
        if len(target) == nodes:
            return {LABELS: [label_cell(None, each, place) for each in target]}
        raise DataError(f"{place}: {len(target)} labels for {nodes} nodes: give one for each, or fractions")
    if isinstance(target, float):
        return {"target": target}
    return {"label": label_cell(None, target, place)}


def _smiles(given: Any, target: Any, place: str) -> str:
    if not isinstance(given, str):
        raise DataError(f"{place}: the molecule is {described_item(given)}; SMILES are wanted, as before")
    return given


def _target(given: Any, target: Any, place: str) -> Any:
    if isinstance(target, Tensor | np.ndarray):
        target = target.tolist()
    if isinstance(target, list | tuple):
        return [float(each) for each in target]
    return target if isinstance(target, float) else label_cell(given, target, place)


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
