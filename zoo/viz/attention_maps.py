"""Attention maps of a model with the labels of a figure: layer, head, and the names of queries and keys.

Axes: b rows, h heads, q queries, k keys.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeVar

from jaxtyping import Float
from torch import Tensor, nn

from zoo.core.layers.protocol import AttentionLayer
from zoo.core.mechanisms.alignment.attentive import AttentiveDecoder
from zoo.errors import ConfigError, InputError
from zoo.viz.recorder import INSTEAD, check_part, check_there

Part = Literal["encoder", "decoder", "cross"]
"""Whose attention it is; that of a decoder to an encoder is `cross`."""
COLOURS = "viridis"
"""Colour map of all weights, by its name in matplotlib; that of the page of `zoo explore`: the lighter, the larger."""
MOST = 2**29
"""Weights of all maps together that stand in memory at once, 2 GiB."""


@dataclass(frozen=True)
class Side:
    """Axis of an attention map: labels and scale of queries or keys.

    Args:
        step: from one vector to the next.
        unit: of the step; without one, vectors are counted.
        names: of the vectors, instead of numbers.
        what: the vectors are, such as `target token`; empty where queries and keys are the same.
    """

    step: float = 1.0
    unit: str = ""
    names: tuple[str, ...] = ()
    what: str = ""


@dataclass(frozen=True)
class Weights:
    """Attention weights of a layer for one input, with part, layer and heads.

    Args:
        part: that the layer belongs to.
        layer: its number there, from 1.
        heads: their numbers, from 1.
        weights: of each head.
    """

    part: Part
    layer: int
    heads: tuple[int, ...]
    weights: Float[Tensor, "h ..."]


Drawn = TypeVar("Drawn", bound=Weights)


@dataclass(frozen=True)
class Map(Weights):
    """Hold weights of pairs.

    Args:
        queries: what asks.
        keys: what is read.
    """

    weights: Float[Tensor, "h q k"]
    queries: Side
    keys: Side


def maps_of(model: Any, inputs: Sequence[Any], read: Sequence[str] = (), written: Sequence[str] = ()) -> list[Map]:
    """Give the maps of the first row of inputs, in the order of use.

    Args:
        model: of any kind; one without attention has none.
        inputs: as for `forward`.
        read: names of the source's vectors.
        written: names of the decoder's, where it reads tokens.

    Raises:
        ConfigError: If the model has no attention.
        InputError: If the maps have too many weights.
    """
    with _used(model) as uses:
        weights = model.attention_maps(*inputs) if hasattr(model, "attention_maps") else []
    if not weights:
        raise ConfigError(f"'{model.spec.name}' has no attention that could be drawn: {INSTEAD}")
    if len(uses) != len(weights):  # a model of another library, whose maps come in a way of its own
        uses = ["encoder"] * len(weights)
    target = getattr(model, "target", None)
    stem = getattr(model, "stem", None)
    source, answer = _side(target if stem is None else stem, read), _side(target, () if target is None else written)
    read_of = source
    if "cross" in uses:
        kind = "node" if "edge_index" in model.input_names() else _kind(inputs[0], source)
        read_of = replace(source, what=f"source {kind}")
        answer = replace(answer, what=f"target {_kind(inputs[-1], answer)}")
    sides = {"encoder": (source, source), "decoder": (answer, answer), "cross": (answer, read_of)}
    counts: Counter[str] = Counter()
    found = []
    for part, each in zip(uses, weights, strict=True):
        counts[part] += 1
        heads = tuple(range(1, each.shape[1] + 1))
        found.append(Map(part, counts[part], heads, each[0].float().cpu(), *sides[part]))
    return found


def chosen(maps: Sequence[Drawn], part: str | None, layers: Sequence[int], heads: Sequence[int]) -> list[Drawn]:
    """Take some of the maps, in their order.

    Args:
        maps: of a model.
        part: whose; all if None.
        layers: their numbers, in each part; all if there are none.
        heads: their numbers; all if there are none. Layers that have none of them are left out.

    Raises:
        ConfigError: If one of them is not there.
    """
    parts = list(dict.fromkeys(each.part for each in maps))
    check_part(part, parts)
    maps = [each for each in maps if part in (None, each.part)]
    check_there("layers", layers, {each.layer for each in maps})
    maps = [each for each in maps if not layers or each.layer in layers]
    check_there("heads", heads, {head for each in maps for head in each.heads})
    if not heads:
        return list(maps)
    return [_of_heads(each, heads) for each in maps if set(heads) & set(each.heads)]


def _of_heads(found: Drawn, heads: Sequence[int]) -> Drawn:
    kept = [head for head in found.heads if head in heads]
    return replace(found, heads=tuple(kept), weights=found.weights[[found.heads.index(head) for head in kept]])


def _side(stem: Any, names: Sequence[str]) -> Side:
    step, unit = getattr(stem, "spacing", (1.0, ""))
    return Side(step, unit, tuple(names))


def _kind(given: Any, side: Side) -> str:
    """Say what the vectors of a side are, by the input that they are made of."""
    if side.unit:
        return "time"
    ids = hasattr(given, "is_floating_point") and not given.is_floating_point()
    return "token" if side.names or ids else "place"


@contextmanager
def _used(model: nn.Module) -> Iterator[list[Part]]:
    """Note whose attention is used, in that order, and refuse more weights than fit."""
    seen: list[Part] = []
    total = 0

    def note(path: str, layer: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        nonlocal total
        assert isinstance(layer, AttentionLayer | AttentiveDecoder)
        asking, context = given[0], named.get("context") or (*given, None)[1]
        queries, keys = asking.x.shape[1], (context or asking).x.shape[1]
        total += len(asking.x) * layer.num_heads * queries * keys
        if total > MOST:
            raise InputError(
                f"{queries:,} vectors read {keys:,}: the maps of this model would hold more than {MOST:,} weights; "
                "give a shorter input"
            )
        seen.append("cross" if context is not None else "decoder" if path.startswith("decoder.") else "encoder")

    hooks = [
        module.register_forward_pre_hook(partial(note, path), with_kwargs=True)  # type: ignore[union-attr]
        for path, module in list(model.named_modules())
        if isinstance(module, AttentionLayer | AttentiveDecoder)
    ]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()
