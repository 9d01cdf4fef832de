"""Keywords of `zoo.create`: checked against the model's entry before anything is built."""

import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from numbers import Number
from typing import Any

from zoo.errors import ConfigError, KeywordError
from zoo.factory.keyword_aliases import alias_of
from zoo.names import did_you_mean, listed
from zoo.spec import ModelSpec

_WHY = {
    "attention": "no attention to swap",
    "position": "no position encoding to swap",
    "num_classes": "no classifier",
    "task": "one task only",
}
_FIXED = {"attention": "its attention is fixed", "position": "its position encoding is fixed"}
"""Why models with attention do not take a keyword: their makers lack the parameter."""
_CHOICES = ("soft", "hard")
"""What `choice=` of recurrent decoders may be, which others call their attention."""


def accepted(entry: Callable[..., Any]) -> tuple[dict[str, Any], bool]:
    """Return the keywords of an entry with their defaults, and whether it takes any others."""
    parameters = inspect.signature(entry).parameters.values()
    named = {p.name: p.default for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
    return named, any(p.kind is p.VAR_KEYWORD for p in parameters)


def is_weights(keyword: str) -> bool:
    """Tell whether a keyword says which weights the parts of a model start from, which is no part of its record."""
    return keyword == "pretrained" or keyword.endswith("_weights")


def check(spec: ModelSpec, entry: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Check that the model has all keywords.

    Raises:
        ConfigError: If it lacks one; the error names the model, the keyword and the nearest valid one.
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
    parameters = inspect.signature(entry).parameters.values()
    numbers = {p.name for p in parameters if p.annotation in (int, float, int | None, float | None)}
    for keyword, value in given.items():
        if keyword in numbers and not isinstance(value, Number | None):
            usual = named[keyword] if spec.config.get(keyword, value) == value else spec.config[keyword]
            kind = "text" if isinstance(value, str) else type(value).__name__
            raise ConfigError(
                f"{keyword}={value!r} of model '{spec.name}' is a {kind}: it takes a number, as {usual!r}"
            )
        swapped = keyword in ("attention", "position") and spec.kind == "convolution"
        if keyword in named or (anything and not swapped) or (keyword == "task" and task == spec.task):
            continue
        if keyword in _WHY:
            other = (
                f"; write choice={value!r}"
                if keyword == "attention" and value in _CHOICES and "choice" in named
                else ""
            )
            raise ConfigError(f"Model '{spec.name}' takes no {keyword}=: {_reason(keyword, spec, anything)}{other}")
        known = {*named, "task", "num_classes", "attention", "position", "weights", "device", "dtype"}
        raise KeywordError(
            f"Model '{spec.name}' has no keyword '{keyword}'.{near(keyword, known)} It takes {listed(sorted(named))}.",
            keyword,
        )


@contextmanager
def named(spec: ModelSpec, given: Mapping[str, Any]) -> Iterator[None]:
    """Name the model and the keyword in errors of an entry.

    One is that of an entry that takes anything and hands a keyword on to what does not. The other is that of a number
    of heads which belongs to the model's own attention, where the caller chose another.
    """
    try:
        yield
    except ConfigError as error:
        own, heads = spec.config.get("attention"), spec.config.get("num_heads")
        if own is None or "attention" not in given or "num_heads" in given or f"num_heads={heads}" not in str(error):
            raise
        raise ConfigError(
            f"attention={given['attention']!r} of model '{spec.name}': its num_heads={heads} belongs to its own "
            f"attention={own!r}, so give num_heads= too: {error}"
        ) from error
    except TypeError as error:
        found = re.search(r"unexpected keyword argument '(\w+)'", str(error))
        if found is None or found[1] not in given:
            raise
        if found[1] in _WHY:
            raise ConfigError(f"Model '{spec.name}' takes no {found[1]}=: {_reason(found[1], spec, True)}") from error
        hint = near(found[1], _refusing(error))
        raise KeywordError(f"Model '{spec.name}' has no keyword '{found[1]}'.{hint} {error}.", found[1]) from error


@contextmanager
def handed_on(name: str, own: Collection[str]) -> Iterator[None]:
    """Suggest keywords of a function that hands on to `zoo.create` what it does not know itself.

    Args:
        name: of the function.
        own: its keywords.
    """
    try:
        yield
    except KeywordError as error:
        hint = near(error.keyword, own)
        if not hint:
            raise
        raise KeywordError(f"{error} Nor has {name}.{hint}", error.keyword) from error


def near(keyword: str, known: Collection[str]) -> str:
    """Return ` Did you mean 'dim'?`: by the aliases of other libraries, else by spelling; or nothing."""
    name = alias_of(keyword, known)
    return f" Did you mean '{name}'?" if name else did_you_mean(keyword, known)


def arguments(
    spec: ModelSpec, entry: Callable[..., Any], given: Mapping[str, Any], attention: Callable[..., Any] | None
) -> dict[str, Any]:
    """Merge the model's configuration with what was given.

    Args:
        spec: of the model.
        entry: what builds it.
        given: keywords of the caller.
        attention: what builds the attention that the configuration or the caller names, if one does.
    """
    named, anything = accepted(entry)
    merged = {**spec.config, **given}
    if attention is not None:
        merged["attention"] = attention
    if "task" in merged and "task" not in named and not anything:
        del merged["task"]
    return merged


def _reason(keyword: str, spec: ModelSpec, foreign: bool) -> str:
    if foreign:
        return f"it is made by another library ({spec.source or spec.entry}) and has {_WHY[keyword]} here"
    made = f"it is made by convolution and has {_WHY[keyword]}" if spec.kind == "convolution" else ""
    if keyword in _FIXED:
        return made or f"{_FIXED[keyword]}, as {spec.entry} has no parameter '{keyword}'"
    return made or f"it has {_WHY[keyword]}"


def _refusing(error: TypeError) -> set[str]:
    """Find the keywords of what refused one: it is not entered, so it is looked for where it was called."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return set()
    called = str(error).partition("()")[0].removesuffix(".__init__")
    for value in (trace.tb_frame.f_locals | trace.tb_frame.f_globals).values():
        if callable(value) and getattr(value, "__qualname__", "") == called:
            return set(accepted(value)[0]) - {"self"}
    return set()
