"""`zoo plan MECHANISM`: what a mechanism costs beside full attention; torch is imported when it runs."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from zoo.errors import ConfigError
from zoo.factory.attention_argument import attention

if TYPE_CHECKING:
    import torch
    from torch import nn

    from zoo.bench.speed.timing import Spread

FULL = "full"
ROUNDS = 15
"""Timed runs of each layer."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What is planned: rows, their length, heads, channels of each; with `grad`, forward and backward are measured."""

    batch: int
    length: int
    heads: int
    head_dim: int
    dtype: "torch.dtype"
    grad: bool


@dataclass(frozen=True)
class Cost:
    """What a forward pass takes beyond the projections: operations, a multiply-add as two, and bytes."""

    operations: int
    bytes: int


def cost_of(mechanism: str, sizes: Sizes) -> Cost:
    """Count what a mechanism takes, from what its layer says; nothing is computed.

    Raises:
        ConfigError: If it does not say it, or rows may not be so long.
    """
    import torch

    from zoo.core import Tokens
    from zoo.core.mechanisms.abilities import Mechanism

    with torch.device("meta"):
        layer = _layer(mechanism, sizes)
        if not isinstance(layer, Mechanism):
            raise ConfigError(f"{mechanism!r} does not say what it costs: {type(layer).__name__} has no `cost`")
        if not layer.abilities.any_length:
            layer.eval()(Tokens(torch.empty(1, sizes.length, sizes.heads * sizes.head_dim, dtype=sizes.dtype)))
    found = layer.cost(sizes.length)
    outside = 4 * sizes.length * sizes.heads * sizes.head_dim  # queries, keys, values and the answer
    return Cost(2 * sizes.batch * found.multiply_adds, sizes.batch * (found.numbers + outside) * sizes.dtype.itemsize)


def cost_of_full(sizes: Sizes) -> Cost:
    """Count what full attention takes on the backend that is chosen for it."""
    from zoo.core import Full, plan

    chosen = plan(
        Full(),
        batch=sizes.batch,
        queries=sizes.length,
        keys=sizes.length,
        heads=sizes.heads,
        head_dim=sizes.head_dim,
        dtype=sizes.dtype,
        grad=sizes.grad,
    )
    return Cost(chosen.flops, chosen.bytes)


def measured(mechanism: str, sizes: Sizes, threads: int | None) -> "tuple[Spread, Spread, Spread]":
    """Time the layers of a mechanism and of full attention in turns, projections included.

    Returns:
        The seconds of each, and their ratio.
    """
    import torch

    from zoo.bench.grid.threads import torch_threads
    from zoo.bench.speed.timing import Spread, in_turns
    from zoo.core import Tokens

    torch.manual_seed(0)
    x = torch.randn(sizes.batch, sizes.length, sizes.heads * sizes.head_dim, dtype=sizes.dtype)

    def run(layer: "nn.Module") -> None:
        with torch.set_grad_enabled(sizes.grad):
            answer = layer(Tokens(x))
        if sizes.grad:
            answer.sum().backward()

    own, full = (_layer(each, sizes).to(sizes.dtype) for each in (mechanism, FULL))
    with torch_threads(threads or torch.get_num_threads()):
        times = in_turns(lambda: run(own), lambda: run(full), ROUNDS)
    first, second = (Spread.of(each) for each in times)
    return first, second, Spread.of([a / b for a, b in zip(*times, strict=True)])


def show(mechanism: str, sizes: Sizes, *, measure: bool, threads: int | None) -> None:
    """Print the costs of a mechanism and of full attention, and what the mechanism can do."""
    from rich.console import Console
    from rich.table import Table

    own, full = cost_of(mechanism, sizes), cost_of_full(sizes)
    console, table = Console(highlight=False, markup=False), Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("attention", "operations", "of full's", "memory", *(("measured", "ratio (95%)") if measure else ())):
        table.add_column(title, justify="left" if title == "attention" else "right", no_wrap=True)
    timed: list[list[str]] = [[], []]
    if measure:
        with console.status("measuring"):
            *times, ratio = measured(mechanism, sizes, threads)
        timed = [[f"{1000 * each.median:.3g} ms", shown] for each, shown in zip(times, (f"x {ratio}", ""), strict=True)]
    for name, cost, more in ((mechanism, own, timed[0]), (FULL, full, timed[1])):
        share = f"x {cost.operations / full.operations:.3g}"
        table.add_row(name, short(cost.operations, ""), share, short(cost.bytes, "B"), *more)
    console.print(table)
    able: Any = _layer(mechanism, sizes).abilities
    console.print(
        ", ".join(f"{name.replace('_', ' ')}: {'yes' if can else 'no'}" for name, can in asdict(able).items())
    )


def _layer(text: str, sizes: Sizes) -> "nn.Module":
    return attention(text)(sizes.heads * sizes.head_dim, sizes.heads)


def short(value: int, unit: str) -> str:
    """Write a number with three digits: `41.2 G`."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {letter}{unit}"
    return f"{value:.3g} {unit}".rstrip()
