"""Identity of a function of the user: its name and, where no module holds it under that name, a digest of its code."""

import functools
import hashlib
import sys
from collections.abc import Callable
from types import CellType, CodeType
from typing import Any

from torch import Tensor, nn

from zoo.data.content_digest import content_digest
from zoo.training.losses.own_loss import name_of

_PLAIN = (int, float, complex, str, bytes, bool, type(None))


def identity_of(function: Any) -> str:
    """Tell functions apart: two lambdas of different code, or of different values around them, are two.

    A function that a module holds is known by its name, which stays when its lines change. Others, such as lambdas,
    functions within functions, `functools.partial` and modules with settings, have a digest of their code, their
    settings and the values they refer to behind the name; it is the same in every process of one Python version.
    """
    if _held_by_a_module(function):
        return name_of(function)
    return f"{name_of(function)} {hashlib.blake2b(repr(_told(function)).encode(), digest_size=6).hexdigest()}"


def _held_by_a_module(function: Any) -> bool:
    found: Any = sys.modules.get(getattr(function, "__module__", None) or "")
    for part in str(getattr(function, "__qualname__", "")).split("."):
        found = getattr(found, part, None)
    return found is function


def _told(value: Any, above: tuple[int, ...] = ()) -> Any:
    """Give what tells a value apart, made of texts and numbers alone: no addresses of memory.

    Args:
        value: any.
        above: identities of what holds it, since a function may refer to itself.
    """
    if isinstance(value, _PLAIN):
        return value
    if id(value) in above:
        return "itself"
    return _told_inside(value, lambda inner: _told(inner, (*above, id(value))))


def _told_inside(value: Any, told: Callable[[Any], Any]) -> Any:
    if isinstance(value, tuple | list):
        return [type(value).__name__, *map(told, value)]
    if isinstance(value, dict):
        return [[told(key), told(each)] for key, each in value.items()]
    if isinstance(value, set | frozenset):
        return sorted(repr(told(each)) for each in value)
    if isinstance(value, Tensor):
        return content_digest(value).hex()
    if isinstance(value, CodeType):
        return [value.co_code.hex(), list(value.co_names), told(value.co_consts)]
    if isinstance(value, functools.partial):
        return [told(value.func), told(value.args), told(value.keywords)]
    if isinstance(value, nn.Module):
        plain = {name: each for name, each in vars(value).items() if isinstance(each, _PLAIN) and name != "training"}
        return [type(value).__qualname__, told(plain), told(dict(value.state_dict())), [*map(told, value.children())]]
    if _held_by_a_module(value) or not hasattr(value, "__code__"):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    around = [told(cell.cell_contents) for cell in value.__closure__ or () if cell != CellType()]
    return [told(value.__code__), told(value.__defaults__), told(value.__kwdefaults__), around]
