"""A pane of the page: the attention of one model for one input, what it reads and writes, and joined attention."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from zoo.errors import ConfigError
from zoo.viz.explorer.media import Medium, media_of, places_of
from zoo.viz.methods.gradient_weighted import gradient_weighted, largest_scores, scores_of
from zoo.viz.methods.head_summary import summarise
from zoo.viz.methods.rollout import rollout
from zoo.viz.recorder import Recorded, Selection, record

MOST = 24_000_000
"""Weights of a page; more would take a browser too long."""
ROLLOUT = (
    "arXiv:2005.00928: the product of all layers' weights, with half of each for the residual connection. It knows "
    "neither values nor MLPs nor the answer: it is the same for every class, and no proof that an input was used."
)
GRADIENT = (
    "arXiv:2103.15679: positive part of weights times gradients of {what}, joined over layers, without the identity. "
    "It tells what the answer depends on near this input; where gradients are flat it shows little, and it leaves out "
    "MLPs and norms."
)


@dataclass(frozen=True)
class Shown:
    """Hold a map as the page shows it.

    Args:
        part: whose attention, or the method.
        layer: from 1; 0 of methods.
        head: from 1; 0 of methods.
        weights: numbers.
        rows: side of the queries: `source` or `target`.
        columns: side of the keys.
        summary: of the head; none of methods.
        caveat: what a method does not tell.
    """

    part: str
    layer: int
    head: int
    weights: Float[np.ndarray, "q k"]
    rows: str
    columns: str
    summary: dict[str, float | None] | None = None
    caveat: str = ""


@dataclass(frozen=True)
class Pane:
    """Hold all that the page shows of one model and one input.

    Args:
        title: of both.
        maps: weights and methods.
        sides: names, step and unit of source and target.
        medium: what is read, to lay attention over; None for tokens alone.
        generation: prompt, steps and tree; None where nothing is written token by token.
        notes: why something is missing.
        random: whether the weights are random, so that the attention is not learned.
    """

    title: str
    maps: list[Shown]
    sides: dict[str, dict[str, Any]]
    medium: Medium | None
    generation: dict[str, Any] | None
    notes: list[str]
    random: bool = False


@dataclass(frozen=True)
class Read:
    """Hold inputs with what is known of them.

    Args:
        title: of model and input.
        inputs: as for `forward`.
        source: names of the source's vectors; none where they are no tokens.
        target: names of what a decoder reads.
        generation: prompt, steps and tree.
        preprocess: of the model; None if unknown.
        written: row of the answer and id of each token that was written, or is given as written.
        nodes: names of the nodes of a graph, such as "C 0"; none where they have only numbers.
    """

    title: str
    inputs: tuple[Any, ...]
    source: Sequence[str] = ()
    target: Sequence[str] = ()
    generation: dict[str, Any] | None = None
    preprocess: Any = None
    written: Sequence[tuple[int, int]] = ()
    nodes: Sequence[str] = ()


def pane_of(model: Any, read: Read, chosen: Selection) -> Pane:
    """Run a model and gather what the page shows.

    Args:
        model: of any kind with attention weights.
        read: its input.
        chosen: layers and heads.

    Raises:
        ConfigError: If the model has no attention weights, or not the chosen ones.
        InputError: If there are more weights than a page holds.
    """
    notes: list[str] = []
    found = _of_one_length(record(model, read.inputs, chosen), notes)
    counts = _vectors(found)
    vectors = next((each for each in found if each.part != "decoder"), found[0]).weights.shape[-1]
    medium = media_of(model, read.inputs, vectors, read.preprocess)
    if medium is not None and medium["kind"] == "graph" and len(read.nodes) == medium["given"]:
        medium["names"] = list(read.nodes)
    places = places_of(medium, vectors)
    maps = [
        *_heads(found, places, medium is None or medium["kind"] != "graph"),
        *_methods(model, read, found, chosen, notes),
    ]
    return Pane(read.title, maps, _sides(model, read, counts, medium), medium, read.generation, notes)


def _of_one_length(found: list[Recorded], notes: list[str]) -> list[Recorded]:
    """Leave out cross-attention that reads means of the encoder's vectors, which have other places than these."""
    lengths = {each.weights.shape[2] for each in found if each.part == "encoder"}
    left = {each.weights.shape[2] for each in found if each.part == "cross"} - lengths
    if not lengths or not left:
        return found
    notes.append(f"The decoder reads {max(left)} means of the encoder's vectors: --part cross shows how.")
    return [each for each in found if each.part != "cross" or each.weights.shape[2] in lengths]


def _vectors(found: Sequence[Recorded]) -> dict[str, int]:
    """Give the number of vectors of source and target."""
    counts: dict[str, int] = {}
    for each in found:
        rows, columns = _sides_of(each.part)
        counts[rows] = max(counts.get(rows, 0), each.weights.shape[1])
        counts[columns] = max(counts.get(columns, 0), each.weights.shape[2])
    return counts


def _sides_of(part: str) -> tuple[str, str]:
    return {"encoder": ("source", "source"), "decoder": ("target", "target")}.get(part, ("target", "source"))


def _heads(found: Sequence[Recorded], places: Tensor | None, ordered: bool) -> Iterator[Shown]:
    for each in found:
        known = places if places is not None and len(places) == each.weights.shape[2] else None
        summaries = summarise(each.weights, each.valid, cross=each.part == "cross", places=known)
        for head, weights, summary in zip(each.heads, each.weights, summaries, strict=True):
            numbers = {name: None if value is None else round(value, 5) for name, value in asdict(summary).items()}
            if not ordered:  # the nodes of a graph stand in no order
                numbers |= {"distance": None, "previous": None, "first": None}
            yield Shown(each.part, each.layer, head, weights.numpy(), *_sides_of(each.part), numbers)


def _methods(model: Any, read: Read, found: Sequence[Recorded], chosen: Selection, notes: list[str]) -> Iterator[Shown]:
    """Join the attention of all layers, where all are there."""
    if chosen.part or chosen.layers or chosen.heads:
        notes.append("Rollout and gradient-weighted attention need all parts, layers and heads: leave the choice out.")
        return
    for part in ("encoder", "decoder"):
        layers = [each.weights for each in found if each.part == part]
        if not layers:
            continue
        if any(each.shape[-2:] != (layers[0].shape[-1],) * 2 for each in layers):
            notes.append(f"No rollout of the {part}: its layers have different numbers of vectors.")
            continue
        if any(float(each.min()) < -1e-6 for each in layers):
            notes.append(f"No rollout of the {part}: its weights are no shares, some are negative.")
            continue
        for heads in ("mean", "max"):
            name = f"rollout of {part}, {heads} of heads"
            joined = rollout(layers, heads).numpy()
            yield Shown(name, 0, 0, joined, *_sides_of(part), None, ROLLOUT)
    yield from _gradients(model, read, notes)


def _gradients(model: Any, read: Read, notes: list[str]) -> Iterator[Shown]:
    task = getattr(getattr(model, "spec", None), "task", "classify")
    what = {"generate": "the scores of the tokens that are written", "tag": "the largest score of each vector"}
    try:
        if task == "features":
            raise ConfigError("gradient-weighted attention of features: they are no answer with a score")
        if read.generation is not None and not read.written:
            raise ConfigError("gradient-weighted attention of an answer without a token")
        found = gradient_weighted(model, read.inputs, scores_of(read.written) if read.written else largest_scores)
    except (ConfigError, RuntimeError, AttributeError) as error:
        notes.append(f"No gradient-weighted attention: {str(error).splitlines()[0]}")
        return
    caveat = GRADIENT.format(what=what.get(task, "the largest score"))
    for part, relevance in (("encoder", found.source), ("decoder", found.target), ("cross", found.cross)):
        if relevance is None:
            continue
        shown = relevance if part == "cross" else relevance - torch.eye(len(relevance), dtype=relevance.dtype)
        if bool(shown.any()):
            name = f"gradient-weighted, {part}"
            yield Shown(name, 0, 0, shown.clamp(min=0).float().numpy(), *_sides_of(part), None, caveat)


def _sides(model: Any, read: Read, counts: dict[str, int], medium: Medium | None) -> dict[str, dict[str, Any]]:
    """Name the vectors of source and target: tokens, patches by row and column, nodes, or seconds."""
    given = {"source": list(read.source), "target": list(read.target)}
    stem = getattr(model, "stem", None)
    step, unit = getattr(stem, "spacing", (1.0, ""))
    sides = {}
    for side, count in counts.items():
        names = given[side]
        if len(names) != count:
            names = _named(count, medium if side == "source" else None, step if side == "source" and unit else None)
        sides[side] = {"names": names, "tokens": len(given[side]) == count}
    if read.generation is not None:  # what is written is shown even where no attention reads it
        sides.setdefault("target", {"names": given["target"], "tokens": True})
    return sides


def _named(count: int, medium: Medium | None, step: float | None) -> list[str]:
    if medium is not None and medium["kind"] == "picture":
        columns, prefix = medium["grid"][1], medium["prefix"]
        front = ["class token"] if prefix == 1 else [f"front token {place + 1}" for place in range(prefix)]
        patches = (divmod(place, columns) for place in range(count - prefix))
        return [*front, *(f"row {row + 1}, column {column + 1}" for row, column in patches)]
    if medium is not None and medium["kind"] == "graph":
        extra = (f"added node {place - medium['given'] + 1}" for place in range(medium["given"], count))
        nodes = medium.get("names") or [f"node {place}" for place in range(medium["given"])]
        return [*nodes[:count], *extra]
    if step is not None:
        return [f"{place * step:.2f} s" for place in range(count)]
    return [str(place) for place in range(count)]
