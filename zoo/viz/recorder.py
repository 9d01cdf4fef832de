"""Record the attention weights of chosen layers and heads while a model runs, and refuse more than fit.

Axes: h heads, q queries, k keys.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from math import isqrt
from typing import Any, Literal, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from zoo.core.engine.tracing import rows_apart
from zoo.core.layers.protocol import WeighsPairs
from zoo.core.mechanisms.alignment.attentive import AttentiveDecoder
from zoo.core.models.model import Composition
from zoo.errors import ConfigError, InputError

Part = Literal["encoder", "decoder", "cross"]
"""Whose attention it is; that of a decoder to an encoder is `cross`."""
INSTEAD = (
    "convolutions and recurrent cells make none. `zoo predict` and `zoo generate` show its answers; a Transformer on "
    "the same task has weights to explore, also with recurrent attention (attention=delta)"
)
"""What can be done with a model that has no weights to show."""
OURS = {"zoo", "torch"}
"""Packages whose modules run a layer once for each place where it stands; those that give a context name it `cross`."""
AT_ONCE = 2**29
"""Weights of a layer that stand in memory, 2 GiB."""


@dataclass(frozen=True)
class Selection:
    """Choice of layers and heads, by numbers from 1; all where there are none.

    Args:
        part: encoder, decoder or cross; all if None.
        layers: in each part.
        heads: in each layer.
        most: weights at most of all that are chosen.

    Raises:
        ConfigError: If there is no such part.
    """

    part: str | None = None
    layers: tuple[int, ...] = ()
    heads: tuple[int, ...] = ()
    most: int = AT_ONCE

    def __post_init__(self) -> None:
        if self.part not in (None, *get_args(Part)):
            raise ConfigError(f"part={self.part!r} is none of {', '.join(get_args(Part))}")

    def takes(self, part: str, layer: int) -> bool:
        """Tell whether a layer is chosen."""
        return self.part in (None, part) and (not self.layers or layer in self.layers)

    def of(self, heads: int) -> tuple[int, ...]:
        """Give the chosen heads of a layer."""
        return tuple(head for head in range(1, heads + 1) if not self.heads or head in self.heads)


@dataclass(frozen=True)
class Recorded:
    """Hold the weights of a layer for the first row of inputs.

    Args:
        part: that the layer belongs to.
        layer: its number there, from 1.
        heads: their numbers.
        weights: of these heads.
        valid: which keys are no padding; None if all are valid.
    """

    part: Part
    layer: int
    heads: tuple[int, ...]
    weights: Float[Tensor, "h q k"]
    valid: Bool[Tensor, " k"] | None = None


def part_of(path: str, layer: Any, context: Any) -> Part:
    """Tell whose attention a layer of a model is.

    Args:
        path: of the layer in the model.
        layer: with attention.
        context: other vectors that it reads; None for its own.
    """
    if context is not None or isinstance(layer, AttentiveDecoder):
        return "cross"
    return "decoder" if path.startswith("decoder.") else "encoder"


def record(model: Any, inputs: Sequence[Any], chosen: Selection = Selection()) -> list[Recorded]:
    """Run a model once and give the weights of the chosen layers and heads, in the order of use.

    Args:
        model: of any kind.
        inputs: as for `forward`.
        chosen: what is kept.

    Raises:
        ConfigError: If the model has no attention weights, or not the chosen ones.
        InputError: If there are more weights than may be.
    """
    recorder = _Recorder(chosen)
    if isinstance(model, Composition) or not hasattr(model, "attention_maps"):
        recorder.run(model, inputs)
    else:  # a model of another library, whose maps come in a way of its own
        for weights in model.attention_maps(*inputs):
            layer = recorder.number("encoder")
            if chosen.takes("encoder", layer):
                recorder.check(*weights.shape[1:])
                recorder.keep("encoder", layer, weights[0], None)
    _check_counts(model, chosen, recorder.layers, recorder.heads)
    return recorder.found


def check_chosen(model: Any, chosen: Selection) -> None:
    """Refuse layers, heads and parts that a model does not have, and a model without any, before it runs.

    What only a run tells is left to it: whether a module of a plugin runs a layer again or gives it a context, and all
    of a model of another library.

    Args:
        model: of any kind.
        chosen: what is to be kept.

    Raises:
        ConfigError: If the model has no attention weights, or not the chosen ones.
    """
    if not isinstance(model, Composition) and hasattr(model, "attention_maps"):
        return
    counts = Counter[Part]()
    most = 0
    modules, holders = dict(model.named_modules(remove_duplicate=False)), set[str]()
    for path, layer in modules.items():
        if issubclass(type(layer), WeighsPairs):
            names = path.split(".")
            counts["cross" if "cross" in names else part_of(path, layer, None)] += 1
            most = max(most, getattr(layer, "num_heads", 1))
            holders |= {type(modules[".".join(names[:depth])]).__module__ for depth in range(len(names))}
    if not {module.partition(".")[0] for module in holders} <= OURS:
        check_there("heads", chosen.heads, range(1, most + 1))
    else:
        _check_counts(model, chosen, counts, most)


def check_there(keyword: str, numbers: Sequence[int], available: Collection[int]) -> None:
    """Refuse numbers of layers or heads that are not there.

    Args:
        keyword: of the numbers, for the error: layers or heads.
        numbers: that are asked for.
        available: those that are there.

    Raises:
        ConfigError: If one is not.
    """
    for number in numbers:
        if number not in available:
            raise ConfigError(f"{keyword}={number}: there are {keyword.removesuffix('s')}s 1 … {max(available)}")


def check_part(part: str | None, parts: Collection[str]) -> None:
    """Refuse a part that a model does not have.

    Raises:
        ConfigError: If it is not among the parts; None is any.
    """
    if part is not None and part not in parts:
        raise ConfigError(f"part={part!r}: this model has {' and '.join(parts)}")


def _check_counts(model: Any, chosen: Selection, counts: Counter[Part], most: int) -> None:
    """Refuse a model without weights, and choices that are not there, where the most heads of a layer are known."""
    if not counts:
        name = getattr(getattr(model, "spec", None), "name", type(model).__name__)
        raise ConfigError(f"'{name}' has no attention weights: {INSTEAD}")
    check_part(chosen.part, counts)
    depth = max(count for part, count in counts.items() if chosen.part in (None, part))
    check_there("layers", chosen.layers, range(1, depth + 1))
    check_there("heads", chosen.heads, range(1, most + 1))


def check_length(tokens: int, most: int) -> None:
    """Refuse a text of which not even one head can be shown, before a model writes behind it.

    Args:
        tokens: of the text, each of which may read each.
        most: weights that can be shown.

    Raises:
        InputError: If one head has more.
    """
    if tokens**2 > most:
        raise InputError(
            f"{tokens:,} tokens: one head alone has {tokens**2:,} weights, and {most:,} can be shown; layers= and "
            f"heads= do not help: give at most {isqrt(most):,} tokens"
        )


class _Recorder:
    """Keeps weights, and counts what was there to choose from.

    Args:
        chosen: what is kept.
    """

    def __init__(self, chosen: Selection) -> None:
        self.chosen = chosen
        self.found: list[Recorded] = []
        self.layers: Counter[Part] = Counter()
        self.heads = 0
        self.total = 0

    def run(self, model: nn.Module, inputs: Sequence[Any]) -> None:
        """Run a model whose layers give their weights."""
        hooks = [
            module.register_forward_pre_hook(partial(self._note, path), with_kwargs=True)
            for path, module in list(model.named_modules())
            if issubclass(type(module), WeighsPairs)
        ]
        try:
            with torch.no_grad(), rows_apart():
                model(*inputs)
        finally:
            for hook in hooks:
                hook.remove()

    def number(self, part: Part) -> int:
        """Count a further layer of a part."""
        self.layers[part] += 1
        return self.layers[part]

    def check(self, heads: int, queries: int, keys: int) -> None:
        """Count the heads and the weights of a chosen layer before they are made."""
        self.heads = max(self.heads, heads)
        self.total += len(self.chosen.of(heads)) * queries * keys
        if self.total > self.chosen.most or heads * queries * keys > AT_ONCE:
            most = min(self.chosen.most, AT_ONCE)
            choose = "choose with layers= and heads=, or give a shorter input"
            too_long = f"layers= and heads= do not help, one head has room for {isqrt(most):,} vectors"
            raise InputError(
                f"{queries:,} vectors read {keys:,}, in {heads} heads: that is more than the {most:,} weights that "
                f"can be shown; {choose if queries * keys <= most else too_long}"
            )

    def keep(self, part: Part, layer: int, weights: Tensor, valid: Tensor | None) -> None:
        """Keep the chosen heads of a layer."""
        heads = self.chosen.of(len(weights))
        kept = weights[[head - 1 for head in heads]].float().cpu()
        if not bool(kept.isfinite().all()):
            raise InputError(
                f"layer {layer} of the {part} has weights that are no numbers (NaN): the input or the model's weights "
                "hold such numbers"
            )
        if heads:
            self.found.append(Recorded(part, layer, heads, kept, None if valid is None else valid.cpu()))

    def _note(self, path: str, layer: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        asking, context = given[0], named.get("context") or (*given, None)[1]
        part = part_of(path, layer, context)
        number = self.number(part)
        heads = getattr(layer, "num_heads", 1)
        if not self.chosen.takes(part, number):
            return
        read = asking if context is None else context
        self.check(heads, asking.x.shape[1], read.x.shape[1])
        valid = read.valid()
        self.keep(part, number, layer.weights(*given, **named)[0], None if valid is None else valid[0])
