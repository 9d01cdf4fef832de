"""Checks of hooks: their names, marks and parameters, and the version of the interface they are written for."""

from collections.abc import Iterator
from inspect import Parameter, getattr_static, signature
from typing import Any

from zoo import hookspecs
from zoo.names import did_you_mean, nearest
from zoo.plugin_check.finding import Finding, error, warning

HOOKS = {name: value for name, value in vars(hookspecs).items() if name.startswith("zoo_")}


def check_version(plugin: Any) -> Iterator[Finding]:
    """Compare the version that a plugin says it is written for with that of this zoo."""
    missing = object()
    api, own = getattr_static(plugin, "ZOO_PLUGIN_API", missing), hookspecs.ZOO_PLUGIN_API
    if api is missing:
        yield warning("ZOO_PLUGIN_API", "is not set", f"write ZOO_PLUGIN_API = {own}: a zoo of another version says so")
    elif not isinstance(api, int):
        yield error("ZOO_PLUGIN_API", f"is {api!r}, no whole number", f"write ZOO_PLUGIN_API = {own}")
    elif api > own:
        yield error("ZOO_PLUGIN_API", f"is {api}, this zoo has {own}", "pip install --upgrade attention-zoo")
    elif api < own:
        yield error("ZOO_PLUGIN_API", f"is {api}, this zoo has {own}", "see docs/plugins.md for what changed")


def check_hooks(plugin: Any) -> Iterator[Finding]:
    """Find hooks that are misspelt, unmarked, of a newer zoo, or that ask for what the zoo does not give."""
    if not any(
        name.startswith("zoo_") or hasattr(getattr_static(plugin, name, None), "zoo_impl") for name in dir(plugin)
    ):
        place = getattr(plugin, "__file__", None) or "a folder, and no module"
        yield error("hooks", f"there are none: it is {place}", "name the module with the hooks in the entry point")
    for name in dir(plugin):
        found = getattr_static(plugin, name, None)
        found = getattr(found, "__func__", found)
        marked = hasattr(found, "zoo_impl")
        if name in HOOKS and not marked:
            yield error(name, "is not marked, so it is never called", "write @zoo.hookimpl above it")
        elif name in HOOKS:
            yield from _check_parameters(name, found)
        elif marked:
            yield error(name, f"is no hook of this zoo.{did_you_mean(name, HOOKS)}", _known(name))
        elif name.startswith("zoo_") and callable(found) and nearest(name, HOOKS):
            yield warning(name, f"is no hook.{did_you_mean(name, HOOKS)}", "rename it and write @zoo.hookimpl above it")


def _known(name: str) -> str:
    if nearest(name, HOOKS):
        return "correct its name"
    return f"if a newer zoo has it: pip install --upgrade attention-zoo. This one has {', '.join(HOOKS)}"


def _check_parameters(name: str, found: Any) -> Iterator[Finding]:
    offered = list(signature(HOOKS[name]).parameters)
    for parameter in signature(found).parameters.values():
        if parameter.name == "self":
            continue
        if parameter.name not in offered:
            given = f"the zoo gives {', '.join(offered) or 'nothing'}"
            yield error(name, f"asks for {parameter.name!r}; {given}", f"remove {parameter.name!r} or correct its name")
        elif parameter.default is not Parameter.empty:
            mend = f"write {parameter.name} without a default"
            yield error(name, f"has a default for {parameter.name!r}, so it never gets the zoo's value", mend)
