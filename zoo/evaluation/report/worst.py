"""The examples with the worst answers, each as a picture, a sound, a graph, its text or its numbers."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from zoo.data.corpus import Batch
from zoo.data.items import GivesItems
from zoo.errors import ZooError
from zoo.evaluation.collect import placed
from zoo.evaluation.judge import Item, Judge
from zoo.viz.explorer.media import media_of

NODES = 200
"""Nodes up to which a graph is drawn."""
NUMBERS = 12
"""Numbers of an input that are shown where it is nothing else."""


class Shown(NamedTuple):
    """An example of the report.

    Args:
        item: which.
        row: the answer, see `Judge.rows`.
        medium: what the input shows, see `media_of`; None for a text or numbers.
        text: of the input; empty where it is none.
    """

    item: Item
    row: dict[str, Any]
    medium: dict[str, Any] | None
    text: str


def worst_of(judge: Judge, corpus: Any, model: Any, preprocess: Any, count: int) -> list[Shown]:
    """Draw the items with the largest losses, the worst first.

    Args:
        judge: of the answers.
        corpus: of the inputs.
        model: that answered.
        preprocess: of the model, which tells how pictures were normalised; None if unknown.
        count: items at most.
    """
    order = np.argsort(-judge.losses(), kind="stable")
    chosen: list[int] = []
    seen: set[Item] = set()
    for place in order.tolist():
        item = judge.items[place]
        if len(chosen) < count and item not in seen:  # nodes of one graph are one example
            chosen.append(place)
            seen.add(item)
    rows = judge.rows()
    batches = dict(_inputs(corpus, [judge.items[place] for place in chosen]))
    return [_shown(judge.items[place], rows[place], batches.get(judge.items[place]), corpus, model, preprocess)
            for place in chosen]  # fmt: skip


def _shown(item: Item, row: dict[str, Any], batch: Batch | None, corpus: Any, model: Any, preprocess: Any) -> Shown:
    if batch is None:
        return Shown(item, row, None, str(row.get("input", "")))
    text = str(row.get("input") or _text(batch.inputs, corpus))
    medium = None if text else _medium(batch.inputs, model, preprocess)
    return Shown(item, row, medium, text or ("" if medium else _numbers(batch.inputs)))


def _inputs(corpus: Any, items: Sequence[Item]) -> list[tuple[Item, Batch]]:
    """Give the inputs of some examples; of a corpus that gives no single ones, by reading the split again."""
    if isinstance(corpus, GivesItems):
        return [(item, corpus.items(item.split, [item.place])) for item in items]
    wanted, found = set(items), []
    for split in dict.fromkeys(item.split for item in items):
        for places, batch in placed(corpus, split, 1):
            if (item := Item(split, places[0])) in wanted:
                found.append((item, batch))
    return found


def _text(inputs: Sequence[Any], corpus: Any) -> str:
    """Read the tokens of an input; nothing where it holds none."""
    ids, tokenizer = inputs[0], getattr(corpus, "tokenizer", None)
    if tokenizer is None or not isinstance(ids, Tensor) or ids.is_floating_point() or ids.ndim != 2:
        return ""
    return str(tokenizer.decode(ids[0]))


def _medium(inputs: Sequence[Any], model: Any, preprocess: Any) -> dict[str, Any] | None:
    device = next(model.parameters()).device
    moved = [each.to(device) if isinstance(each, Tensor) else each for each in inputs]
    if len(inputs) > 1 and isinstance(inputs[0], Tensor) and inputs[0].ndim == 2 and len(inputs[0]) > NODES:
        return None
    try:
        return media_of(model, moved, 1, preprocess)
    except ZooError:
        return None


def _numbers(inputs: Sequence[Any]) -> str:
    first = inputs[0]
    if not isinstance(first, Tensor):
        return ""
    flat = first.float().flatten()
    return ", ".join(f"{value:.4g}" for value in flat[:NUMBERS].tolist()) + (", …" if len(flat) > NUMBERS else "")
