"""The built-in modalities; called, `zoo.plugins()` reports what became of every plugin.

The package takes the name of the function once it is imported, so it can be called as well.
"""

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self) -> list[Any]:
        from zoo.factory.create import plugins

        return plugins()


sys.modules[__name__].__class__ = _Callable
