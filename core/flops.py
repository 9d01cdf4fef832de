"""FLOP counts of a model, without running it: attention by its plan, the rest by torch's formulas."""

import copy
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

from zoo.core.backends.problem import Problem
from zoo.core.engine import tracing
from zoo.core.engine.planner import Plan, choose

Shape = Sequence[int]


@dataclass(frozen=True)
class Operations:
    """Hold the floating-point operations of the products in one forward, a multiply-add counted as two.

    Args:
        attention: of `attend`, as its plans say: of the pairs that are computed, not of the square.
        other: of everything else that torch has a formula for: matrix products, convolutions, foreign attention.
        modules: of both, by the name of the module; a module's own hold those of its parts.
    """

    attention: int
    other: int
    modules: Mapping[str, int] = field(default_factory=dict, repr=False)

    @property
    def total(self) -> int:
        """Both together."""
        return self.attention + self.other

    @property
    def multiply_adds(self) -> int:
        """Half of the total: what papers give as MACs, some of them under the name of FLOPs."""
        return (self.total + 1) // 2


def count(model: nn.Module, *inputs: Any) -> Operations:
    """Count the operations of one forward; the model is not changed, and its weights are neither copied nor read.

    A copy on the meta device reads the shapes. Tensors of integers and booleans keep their values, since lengths and
    edges decide what attention costs; where a model cannot mix them with shapes, they become shapes too.

    Args:
        model: counted as it is, in training or in evaluation, planned for the device of its parameters.
        inputs: of the model, on any device; the whole batch counts.

    Raises:
        RuntimeError: If the model asks for values, and cannot run on shapes.
    """
    device = next((part.device.type for part in model.parameters()), "cpu")
    shadow = on_meta(model).requires_grad_(False)  # hooks of the counter refuse a parameter that a module gives back
    try:
        return _count(shadow, [moved(part, _without_fractions) for part in inputs], device)
    except RuntimeError:  # integers on a CPU beside vectors on meta
        return _count(shadow, [moved(part, lambda x: x.to("meta")) for part in inputs], device)


def _count(model: nn.Module, inputs: Sequence[Any], device: str) -> Operations:
    counter = FlopCounterMode(display=False, custom_mapping=_MISSING)
    attention: Counter[str] = Counter()

    def note(plan: Plan, problem: Problem) -> None:
        planned = choose(replace(problem, device=device))
        for name in counter.mod_tracker.parents:
            attention[name] += planned.flops

    with torch.no_grad(), tracing.watch(note), counter:
        model(*inputs)
    other = {name: sum(found.values()) for name, found in counter.get_flop_counts().items()}
    total = Counter(other) + attention
    root = type(model).__name__
    modules = {name.removeprefix(f"{root}."): total[name] for name in total if name.startswith(f"{root}.")}
    return Operations(attention["Global"], other.get("Global", 0), modules)


def on_meta(model: nn.Module) -> nn.Module:
    """Copy a model without its numbers: the parameters and buffers of the copy are on the meta device."""
    empty: dict[int, Any] = {}
    for parameter in model.parameters():
        hollow = torch.empty_like(parameter, device="meta")
        empty[id(parameter)] = nn.Parameter(hollow, requires_grad=parameter.requires_grad)
    for buffer in model.buffers():
        empty[id(buffer)] = torch.empty_like(buffer, device="meta")
    return copy.deepcopy(model, empty)


def moved(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Change each tensor in a value: a tensor, or a list, tuple, dictionary or dataclass (`Tokens`) that holds some."""
    if isinstance(value, Tensor):
        return change(value)
    if type(value) in (list, tuple):
        return type(value)(moved(part, change) for part in value)
    if type(value) is dict:
        return {key: moved(part, change) for key, part in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: moved(getattr(value, one.name), change) for one in fields(value)})
    return value


def _without_fractions(x: Tensor) -> Tensor:
    return x.to("meta") if x.is_floating_point() or x.is_complex() else x.cpu()


def _attention(query: Shape, key: Shape, value: Shape, *_: Any, out_shape: Any = None, **__: Any) -> int:
    """Count two products: queries by keys, weights by values."""
    return sdpa_flop_count(query, key, value)


# torch 2.11 has formulas for the attention of accelerators only; that of CPUs would count as nothing
_MISSING = {torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention}
