"""What `attention=` means: `window:64`, `window:16,0 & causal`, `(a | b) & c`; `&` binds tighter than `|`."""

import re
from collections import deque
from collections.abc import Callable
from functools import partial
from inspect import signature
from operator import and_, or_
from typing import TYPE_CHECKING, Any

from zoo.errors import ConfigError, ZooError
from zoo.registry.entry_loading import load
from zoo.registry.lookup import registry

if TYPE_CHECKING:
    from zoo.core.patterns.pattern import Pattern


def attention(value: Any) -> Callable[..., Any]:
    """Make what builds an attention from `(dim, num_heads)`.

    Args:
        value: names of patterns and mechanisms, a `Pattern`, or a callable, which is given back.

    Raises:
        ConfigError: If a name is unknown, its arguments do not fit, mechanisms are combined, or the value is a finished
            layer. Later, when the model is built: if a callable makes what takes no tokens.
    """
    from torch import nn

    from zoo.core.layers.attention import Attention
    from zoo.core.patterns.pattern import Pattern

    found = _read(value) if isinstance(value, str) else value
    if isinstance(found, Pattern):
        return partial(Attention, pattern=found)
    if isinstance(found, nn.Module):
        made = type(found).__name__
        raise ConfigError(f"attention={made}(...) is a finished layer: give a callable (dim, num_heads) that makes one")
    if callable(found):
        return found if isinstance(value, str) else _checked(found)
    raise ConfigError(f"attention={value!r} is neither a name, nor a Pattern, nor a callable (dim, num_heads)")


def _checked(make: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a caller's callable, so that what it makes is refused where it cannot be called with tokens alone."""

    def made(*sizes: Any, **options: Any) -> Any:
        layer = make(*sizes, **options)
        if not _takes_tokens(layer):
            shown = getattr(make, "__name__", repr(make))
            raise ConfigError(
                f"attention={shown} makes a {type(layer).__name__}, which is no attention layer of this engine: "
                "subclass zoo.core.Attention, write the methods of zoo.core.AttentionLayer, or at least forward(tokens)"
            )
        return layer

    return made


def _takes_tokens(layer: Any) -> bool:
    """Tell whether a layer is an `AttentionLayer`, or a module whose forward can be called with tokens alone."""
    from torch import nn

    from zoo.core.layers.protocol import AttentionLayer

    if isinstance(layer, AttentionLayer) or not isinstance(layer, nn.Module):
        return isinstance(layer, nn.Module)
    try:
        signature(layer.forward).bind(object())
    except TypeError:
        return False
    return True


def pattern(text: str) -> "Pattern":
    """Read the text form of a pattern: `window:16,0 & causal`.

    Raises:
        ConfigError: If a name is unknown, its arguments do not fit, or it names a mechanism and no pattern.
    """
    from zoo.core.patterns.pattern import Pattern

    found = _read(text)
    if not isinstance(found, Pattern):
        raise ConfigError(f"{text!r} is a mechanism, and not a pattern such as 'window:64 | globals:0'")
    return found


def names_mechanism(text: str) -> bool:
    """Tell whether a text names a mechanism, rather than a pattern.

    Raises:
        ConfigError: If it names neither.
    """
    from zoo.core.patterns.pattern import Pattern

    return not isinstance(_read(text), Pattern)


JOINS = {"|": (0, or_), "&": (1, and_)}
"""What joins two patterns: what binds more is read first."""


def _read(text: str) -> Any:
    parts = deque(part.strip() for part in re.split(r"([&|()])", text) if part.strip())
    found = _joined(parts, text, 0)
    if parts:
        raise ConfigError(f"attention={text!r} has {parts[0]!r} where it should end, or & or | should stand")
    return found


def _joined(parts: deque[str], text: str, least: int) -> Any:
    """Read, and take from the parts, what is joined by signs that bind at least so much."""
    found = _one(parts, text)
    while parts and parts[0] in JOINS and JOINS[parts[0]][0] >= least:
        binds, join = JOINS[parts.popleft()]
        found = join(found, _joined(parts, text, binds + 1))
    return found


def _one(parts: deque[str], text: str) -> Any:
    """Read a name with its arguments, or what stands in brackets."""
    if not parts or parts[0] in ("&", "|", ")"):
        raise ConfigError(f"attention={text!r} lacks a name beside & or |; write it as in 'window:64 | globals:0'")
    name = parts.popleft()
    if name != "(":
        found = _term(name)
        _check_combined(name, found, text)
        return found
    found = _joined(parts, text, 0)
    if not parts or parts.popleft() != ")":
        raise ConfigError(f"attention={text!r} lacks a closing bracket")
    return found


def _check_combined(name: str, found: Any, text: str) -> None:
    from zoo.core.patterns.pattern import Pattern

    if name != text.strip() and not isinstance(found, Pattern):
        raise ConfigError(f"attention={text!r} combines {name!r}, which is no pattern: & and | join patterns only")


def _term(term: str) -> Any:
    spec, arguments = registry().attentions.split(term)
    entry = load(spec)
    try:
        return entry(*(part.strip() for part in arguments.split(",") if arguments.strip()))
    except ZooError:
        raise
    except (TypeError, ValueError) as error:
        form = f"{spec.name}:{spec.takes}" if spec.takes else f"{spec.name}, without arguments"
        raise ConfigError(f"attention={term!r} does not fit, it is written {form}: {error}") from error
