"""What `attention=` means: `window:64`, `window:16,0 & causal`, `a | b`; `&` binds tighter than `|`."""

from collections.abc import Callable
from functools import partial, reduce
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


def _read(text: str) -> Any:
    terms = [[(term.strip(), _term(term.strip(), text)) for term in part.split("&")] for part in text.split("|")]
    if terms[1:] or terms[0][1:]:
        _check_combined(text, [term for part in terms for term in part])
    return reduce(or_, (reduce(and_, (term for _, term in part)) for part in terms))


def _check_combined(text: str, terms: list[tuple[str, Any]]) -> None:
    from zoo.core.patterns.pattern import Pattern

    for name, term in terms:
        if not isinstance(term, Pattern):
            raise ConfigError(f"attention={text!r} combines {name!r}, which is no pattern: & and | join patterns only")


def _term(term: str, whole: str) -> Any:
    _check_written(term, whole)
    spec, arguments = registry().attentions.split(term)
    entry = load(spec)
    try:
        return entry(*(part.strip() for part in arguments.split(",") if arguments.strip()))
    except ZooError:
        raise
    except (TypeError, ValueError) as error:
        form = f"{spec.name}:{spec.takes}" if spec.takes else f"{spec.name}, without arguments"
        raise ConfigError(f"attention={term!r} does not fit, it is written {form}: {error}") from error


def _check_written(term: str, whole: str) -> None:
    if not term:
        raise ConfigError(f"attention={whole!r} lacks a name beside & or |; write it as in 'window:64 | globals:0'")
    if term.startswith("("):
        raise ConfigError(f"attention={whole!r} has brackets, which are not read: '(a | b) & c' is 'a & c | b & c'")
