"""Graphs with a label for each node, which a program gives."""

import json
from collections.abc import Mapping, Sequence

import numpy as np
import torch

from zoo import DataError, ModelSpec
from zoo.data import PARTS, DatasetInfo, by_hash, fingerprint, for_training, hash_names, names_of
from zoo.plugins.graph.data.corpus import GraphsCorpus, GraphTask
from zoo.plugins.graph.data.examples import Example
from zoo.plugins.graph.data.trained_labels import check_trained
from zoo.plugins.graph.io.json_lines import of_line

LABELS = "labels"


def open_labelled_nodes(name: str, lines: Mapping[str, Sequence[str]], spec: ModelSpec, seed: int) -> GraphsCorpus:
    """Make a corpus of graphs whose nodes have a label each.

    Args:
        name: of the data.
        lines: graphs of each part that is given, as lines of JSON with a label for each node in `labels`.
        spec: of the model.
        seed: draws the parts that are not given, each graph by its hash.

    Raises:
        DataError: If a graph has another target, a label is in no training example, or there are too few graphs.
    """
    targets = {part: [_labels(part, place, line) for place, line in enumerate(rows)] for part, rows in lines.items()}
    learned = targets["train"] if for_training() else [row for rows in targets.values() for row in rows]
    known = [label for row in learned for label in row]
    labels = names_of(map(str, known), name)
    if all(isinstance(label, int) for label in known):
        labels.sort(key=int)
    number = {label: place for place, label in enumerate(labels)}
    others = {part: sorted({str(label) for row in rows for label in row}) for part, rows in targets.items()}
    check_trained(others | {"train": labels}, name)
    given = {
        part: [
            Example(of_line(line), torch.tensor([number[str(label)] for label in row]))
            for line, row in zip(rows, targets[part], strict=True)
        ]
        for part, rows in lines.items()
    }
    parts = _completed(name, given, lines["train"], seed)
    first = parts["train"][0].graph
    widths = first.x.shape[1], 0 if first.edge_attr is None else first.edge_attr.shape[1]
    count = sum(map(len, given.values()))
    told = f"`{name}` holds {count:,} graphs, and a label of each node."
    about = DatasetInfo(
        name, told, fingerprint([str(seed), *(f"{part} {line}" for part in lines for line in lines[part])])
    )
    return GraphsCorpus(about, spec, GraphTask("tag", "class", labels, *widths), parts)


def _labels(part: str, place: int, line: str) -> list[str | int]:
    found: list[str | int] | None = json.loads(line).get(LABELS)
    if found is None:
        raise DataError(
            f"{part}[{place}] has no label for each node, as train[0] has: give all graphs one kind of target"
        )
    return found


def _completed(
    name: str, given: Mapping[str, list[Example]], lines: Sequence[str], seed: int
) -> dict[str, list[Example]]:
    """Draw the parts that are not given from the training examples."""
    missing = [part for part in PARTS if part not in given]
    if not missing:
        return dict(given)
    hashes = hash_names(line.encode() for line in lines)
    if for_training() and (different := len(np.unique(hashes))) <= len(missing):
        raise DataError(
            f"{name} has {different} different graphs to train on: too few to draw {' and '.join(missing)} from; give "
            f"{' and '.join(f'{part}=' for part in missing)} too, or one Data with train_mask, val_mask and test_mask"
        )
    drawn = by_hash(hashes, seed, None, missing)
    return dict(given) | {part: [given["train"][place] for place in places] for part, places in drawn.items()}
