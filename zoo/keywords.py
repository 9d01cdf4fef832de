"""The keywords of `zoo.create`: checked against what builds the model, before anything is built."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from zoo import swap
from zoo.errors import ConfigError
from zoo.names import did_you_mean, listed
from zoo.spec import ModelSpec

_WHY = {
    "attention": "no attention to swap",
    "position": "no position encoding to swap",
    "num_classes": "no classifier",
    "task": "one task only",
}


def accepted(entry: Callable[..., Any]) -> tuple[dict[str, Any], bool]:
    """Give the keywords of an entry with their defaults, and whether it takes any others."""
    parameters = inspect.signature(entry).parameters.values()
    named = {p.name: p.default for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
    return named, any(p.kind is p.VAR_KEYWORD for p in parameters)


def check(spec: ModelSpec, entry: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Refuse keywords that the model does not have.

    Raises:
        ConfigError: If there is one; the text names the model, the keyword and the nearest valid one.
    """
    named, anything = accepted(entry)
    task = given.get("task", spec.task)
    if task not in spec.tasks:
        raise ConfigError(
            f"task={task!r} of model '{spec.name}': its tasks are {listed(spec.tasks)}."
            f"{did_you_mean(str(task), spec.tasks)}"
        )
    classes = given.get("num_classes", 0)
    if not isinstance(classes, int) or classes < 0:
        raise ConfigError(f"num_classes={classes!r} of model '{spec.name}' is not a number of labels, 0 or more")
    for keyword in given:
        if keyword in named or anything or (keyword == "task" and task == spec.task):
            continue
        if keyword in _WHY:
            raise ConfigError(f"Model '{spec.name}' takes no {keyword}=: {_reason(keyword, spec)}")
        known = {*named, "task", "num_classes", "attention", "position", "weights", "device", "dtype"}
        raise ConfigError(
            f"Model '{spec.name}' has no keyword '{keyword}'.{did_you_mean(keyword, known)} "
            f"It takes {listed(sorted(named))}."
        )


@contextmanager
def named(spec: ModelSpec, given: Mapping[str, Any]) -> Iterator[None]:
    """Name the model and the keyword where an entry that takes anything hands a keyword on to what does not."""
    try:
        yield
    except TypeError as error:
        found = re.search(r"unexpected keyword argument '(\w+)'", str(error))
        if found is None or found[1] not in given:
            raise
        raise ConfigError(f"Model '{spec.name}' has no keyword '{found[1]}'. {error}") from error


def arguments(spec: ModelSpec, entry: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the model's configuration with what was given, and turn an attention's name into what builds it."""
    named, anything = accepted(entry)
    merged = {**spec.config, **given}
    if merged.get("attention") is not None:
        merged["attention"] = swap.attention(merged["attention"])
    if "task" in merged and "task" not in named and not anything:
        del merged["task"]
    return merged


def plain(value: Any) -> Any:
    """Give a value as JSON can hold it; what it cannot hold becomes its text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return repr(value)


def _reason(keyword: str, spec: ModelSpec) -> str:
    made = f"it is made by convolution and has {_WHY[keyword]}" if spec.kind == "convolution" else ""
    return made or f"it has {_WHY[keyword]}"
