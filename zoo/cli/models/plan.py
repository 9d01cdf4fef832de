"""`zoo plan ATTENTION`: the backend chosen for a pattern, and the cost of each; torch is imported when it runs."""

import importlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zoo.errors import ConfigError
from zoo.names import did_you_mean

if TYPE_CHECKING:
    from rich.table import Table

    from zoo.bench.speed.backends import Offer
    from zoo.core.backends.problem import Problem
    from zoo.core.patterns.pattern import Pattern

DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "fp64": "float64"}
KNOWN = {
    "dtype": tuple(DTYPES),
    "bias": ("none", "dense", "relative", "edges"),
    "norm": ("softmax", "kernel", "hard"),
    "score": ("scaled_dot", "dot"),
    "device": ("cpu", "cuda"),
}

OF_MECHANISMS = ("pattern", "length", "heads", "head_dim", "batch", "dtype", "grad", "measure", "threads")
"""Arguments that go with a mechanism, too."""


def plan(
    context: typer.Context,
    pattern: Annotated[
        str,
        typer.Argument(
            help="Pattern, such as full, causal, window:16, 'window:64 | globals:0', or mechanism, such as gla."
        ),
    ],
    length: Annotated[int, typer.Option(min=1, help="Sequence length: number of keys and of queries.")] = 1024,
    heads: Annotated[int, typer.Option(min=1, help="Number of query heads.")] = 8,
    head_dim: Annotated[int, typer.Option(min=1, help="Channels of each head.")] = 64,
    kv_heads: Annotated[
        int | None, typer.Option(min=1, help="Number of key and value heads.", show_default="heads")
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Batch size.")] = 1,
    queries: Annotated[int | None, typer.Option(min=1, help="Number of queries.", show_default="length")] = None,
    start: Annotated[int, typer.Option(min=0, help="Position of the first query, as in decoding with a cache.")] = 0,
    dtype: Annotated[str, typer.Option(help="Data type: fp32, bf16, fp16 or fp64.")] = "fp32",
    grad: Annotated[bool, typer.Option("--grad", help="With gradients: forward and backward are measured.")] = False,
    device: Annotated[str, typer.Option(help="Device: cpu or cuda.")] = "cpu",
    bias: Annotated[str, typer.Option(help="Attention bias: none, dense, relative or edges.")] = "none",
    padded: Annotated[bool, typer.Option("--padded", help="The batch has padding.")] = False,
    packed: Annotated[bool, typer.Option("--packed", help="Several sequences are packed into each row.")] = False,
    dropout: Annotated[float, typer.Option(help="Dropout of attention weights, in [0, 1).")] = 0.0,
    norm: Annotated[str, typer.Option(help="Normalizer of the scores: softmax, kernel or hard.")] = "softmax",
    score: Annotated[str, typer.Option(help="Score of query and key: scaled_dot or dot.")] = "scaled_dot",
    backend: Annotated[str, typer.Option(help="Backend to use.")] = "auto",
    measure: Annotated[bool, typer.Option("--measure", help="Measure the backends that can compute it.")] = False,
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads of the measurement.")] = None,
) -> None:
    """Show which backend computes an attention pattern, and what each backend would cost.

    Patterns are combined with & and |, & first: 'window:16,0 & causal', '(window:64 | globals:0) & causal'.

    The predicted time is relative to the chosen backend; operations are those of a forward pass.

    A mechanism, such as linformer:64,1024, is shown beside full attention of the same sizes. --measure times whole
    layers then, with their projections.
    """
    given = {"dtype": dtype, "bias": bias, "norm": norm, "score": score, "device": device}
    for option, value in given.items():
        _check_known(option, value)
    if heads % (kv_heads or heads):
        raise ConfigError(f"--heads {heads} is not a multiple of --kv-heads {kv_heads}")
    if not 0 <= dropout < 1:
        raise ConfigError(f"--dropout {dropout} is not in [0, 1)")
    from zoo.bench.speed import backends
    from zoo.cli.models.plan_mechanism import Sizes, show
    from zoo.core.backends.problem import Problem
    from zoo.core.scoring.normalizers import Hard, Kernel
    from zoo.factory.attention_argument import names_mechanism
    from zoo.factory.attention_argument import pattern as read

    numbers = getattr(importlib.import_module("torch"), DTYPES[dtype])
    if names_mechanism(pattern):
        _check_of_mechanism(context, pattern)
        sizes = Sizes(batch=batch, length=length, heads=heads, head_dim=head_dim, dtype=numbers, grad=grad)
        return show(pattern, sizes, measure=measure, threads=threads)

    norms: dict[str, Any] = {"softmax": "softmax", "kernel": Kernel(), "hard": Hard()}
    problem = Problem(
        pattern=_fitting(read(pattern), length, queries, start),
        batch=batch,
        queries=queries or length,
        keys=length,
        heads=heads,
        head_dim=head_dim,
        kv_heads=kv_heads,
        dtype=numbers,
        device=device,
        grad=grad,
        start=start,
        padded=padded or packed,
        packed=packed,
        together=packed and queries in (None, length),
        bias="" if bias == "none" else bias,
        bias_grad=grad and bias != "none",
        score=score,
        norm=norms[norm],
        dropout=dropout,
        backend=backend,
    )
    answers = backends.compare(problem)
    _show(problem, _measured(problem, answers, threads) if measure else answers, measure)


def _check_known(option: str, value: str) -> None:
    known = KNOWN[option]
    if value not in known:
        raise ConfigError(f"--{option} {value!r} is not one of {', '.join(known)}.{did_you_mean(value, known)}")


def _check_of_mechanism(context: typer.Context, mechanism: str) -> None:
    """Refuse the options that say something of a pattern and its backends only."""
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if source and source.name == "COMMANDLINE" and parameter.name not in OF_MECHANISMS:
            shown = f"{parameter.opts[0]} {context.params[str(parameter.name)]}"
            raise ConfigError(f"{shown} belongs to patterns, and {mechanism!r} is a mechanism: leave it out")


def _fitting(pattern: "Pattern", length: int, queries: int | None, start: int) -> "Pattern":
    """Give the pattern back, if it fits a set of this length that reads itself."""
    from zoo.core.models.inspection import misfit

    why = misfit(pattern, length) if queries in (None, length) and not start else None
    if why:
        raise ConfigError(f"{why} (--length {length})")
    return pattern


def _measured(problem: "Problem", answers: "list[Offer]", threads: int | None) -> "list[Offer]":
    """Run the backends, with a bar on a terminal."""
    import torch
    from rich.console import Console
    from rich.progress import Progress

    from zoo.bench.grid.threads import torch_threads as computing
    from zoo.bench.speed.backends import measure

    with (
        Progress(transient=True, console=Console(stderr=True)) as progress,
        computing(threads or torch.get_num_threads()),
    ):
        task = progress.add_task("measuring", total=None)

        def ran(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        return measure(problem, answers, ran=ran)


def _show(problem: "Problem", answers: "list[Offer]", measured: bool) -> None:
    from rich.console import Console

    from zoo.bench.speed.backends import pairs
    from zoo.core.patterns.canonical import canonical

    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = 160  # a pipe has no width to fold at
    square = problem.queries * problem.keys
    count = pairs(problem.pattern, problem.queries, problem.keys, problem.start or 0)
    simple = canonical(problem.pattern, problem.queries, problem.keys, problem.start)
    console.print(f"{problem.pattern}{f' = {simple}' if simple != problem.pattern else ''}")
    share = "too many to look at each" if count is None else f"{count:,} may be read ({count / square:.3%})"
    console.print(f"pairs: {square:,}, {share}")
    console.print(_table(answers, measured))
    chosen = next(offer.plan for offer in answers if offer.chosen and offer.plan)
    console.print(f"{chosen.backend} is taken: it {chosen.why.removeprefix('forced; it ')}")


def _table(answers: "list[Offer]", measured: bool) -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    figures = ("operations", "memory", "predicted", *(("measured", "ratio (95%)") if measured else ()))
    table.add_column("backend", no_wrap=True)
    for title in figures:
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("why", overflow="fold")
    for offer in answers:
        cells = _figures(offer, measured) if offer.plan else ["-"] * len(figures)
        mark = "> " if offer.chosen else "  "
        table.add_row(mark + offer.name, *cells, _why(offer), style="bold" if offer.chosen else "")
    return table


def _figures(offer: "Offer", measured: bool) -> list[str]:
    from zoo.cli.models.plan_mechanism import short

    assert offer.plan
    shown = [short(offer.plan.flops, ""), short(offer.plan.bytes, "B"), f"x {offer.predicted:.3g}"]
    if measured:
        shown += [
            f"{1000 * offer.measured:.3g} ms" if offer.measured else "-",
            f"x {offer.ratio}" if offer.ratio else "-",
        ]
    return shown


def _why(offer: "Offer") -> str:
    if offer.plan is None:
        return f"cannot: {offer.refusal}"
    reason = offer.plan.why
    return f"{reason} ({offer.skipped})" if offer.skipped else reason
