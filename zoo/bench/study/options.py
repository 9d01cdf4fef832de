"""Options of every command that runs a study: where its runs are computed, and which are tried again."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, get_type_hints

import typer

from zoo.bench.study.execution import EXECUTORS
from zoo.errors import ConfigError

WorkersOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Worker processes; by default one for each core. They do not change results: each run has one thread, or "
        "OMP_NUM_THREADS, or as many as the runs in --out.",
    ),
]
RetryFailedOption = Annotated[bool, typer.Option("--retry-failed", help="Repeat runs that failed before.")]
ExecutorOption = Annotated[
    str, typer.Option(help=f"What computes the runs: {' or '.join(EXECUTORS)}, a cluster; see docs/scale.md.")
]
AddressOption = Annotated[
    str | None, typer.Option(help="host:port of the Ray cluster's head; by default RAY_ADDRESS, else this machine.")
]
ShardOption = Annotated[
    str | None,
    typer.Option(help="Run a fixed part only, as 3/16, and make no report: the same command without does."),
]
RESERVED = ("out", "workers", "retry_failed", "executor", "address", "shard", "progress")
"""Names that no option of a single study has."""


def names_in(text: str) -> tuple[str, ...]:
    """Split an option that lists names with commas between."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def numbers_in(text: str, option: str, what: str = "whole number of at least 1") -> tuple[int, ...]:
    """Read an option that lists whole numbers with commas between, such as `1,2,4`; each is at least 1.

    Args:
        text: that the user gave.
        option: its name, for the error: `--sizes`.
        what: a number is, for the error.

    Raises:
        ConfigError: If a part is no such number, or there is none.
    """
    for part in (parts := text.split(",")):
        number = part.strip().replace("_", "")
        if not (number.isascii() and number.isdecimal()) or int(number) < 1:
            raise ConfigError(f"{option} {text}: {part.strip()!r} is not a {what}; write, for instance, 1,2")
    return tuple(map(int, parts))


def own_options(configs: Callable[..., Any]) -> list[inspect.Parameter]:
    """Give the parameters of a study's function of configurations, as keywords with their annotations resolved.

    Raises:
        ConfigError: If one has no default, or the name of an option that every study has.
    """
    hints = get_type_hints(configs, include_extras=True)
    found = []
    for name, parameter in inspect.signature(configs).parameters.items():
        if name in RESERVED or parameter.default is parameter.empty:
            why = "is an option of every study" if name in RESERVED else "has no default"
            raise ConfigError(f"{configs.__module__}.{configs.__qualname__}: its argument {name!r} {why}")
        found.append(parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=hints.get(name, str)))
    return found


def words_of(configs: Callable[..., Any], options: Mapping[str, Any]) -> Iterator[str]:
    """Write the options of a study that differ from their defaults as words of a command."""
    for parameter in own_options(configs):
        value = options.get(parameter.name, parameter.default)
        if value == parameter.default:
            continue
        name = _written(parameter)
        if isinstance(value, bool):
            yield name if value else f"--no-{name.removeprefix('--')}"
        else:
            yield from (name, str(value))


def _written(parameter: inspect.Parameter) -> str:
    """Give an option as users write it: the name in its annotation, or that of the parameter."""
    named = [each.default for each in getattr(parameter.annotation, "__metadata__", ()) if hasattr(each, "param_decls")]
    first = next((name for name in named if isinstance(name, str)), f"--{parameter.name.replace('_', '-')}")
    return first.partition("/")[0]
