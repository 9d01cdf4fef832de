"""The host of plugins: imports, registers and asks each one alone, so that one that fails is taken out whole."""

import traceback
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from inspect import getattr_static
from typing import Any, TypeVar

import pluggy

from zoo import hookspecs
from zoo.errors import PluginError, ZooError
from zoo.names import check_legal
from zoo.registry import discovery
from zoo.registry.catalogue import KINDS, checked
from zoo.registry.discovery import Candidate
from zoo.registry.moved_name import advice
from zoo.spec import PluginInfo

Answer = TypeVar("Answer")
RESERVED = ("hf-hub", "local-dir")


class _IncompatibleError(PluginError):
    pass


class _Manager(pluggy.PluginManager):
    """Look at hooks only: pluggy 1.6 reads every attribute, which imports what lazy modules hold back."""

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        return super().parse_hookimpl_opts(plugin, name) if name.startswith("zoo_") else None


class Host:
    """Load plugins in the order given and keep what they name, what became of them, and why.

    Raises:
        PluginError: If a plugin fails and ZOO_PLUGIN_STRICT is set.
    """

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self.records: dict[str, dict[str, list[Any]]] = {}
        self.failures: dict[str, BaseException] = {}
        self._objects: dict[str, Any] = {}
        self._manager = _Manager("zoo")
        self._manager.add_hookspecs(hookspecs)
        candidates = list(candidates)
        allowed = [candidate for candidate in candidates if not discovery.disabled(candidate)]
        self.infos = [self._load(candidate, allowed) for candidate in candidates]

    def ask(self, plugin: str, hook: str, **arguments: Any) -> Any:
        """Call a hook of one plugin."""
        others = [other for name, other in self._objects.items() if name != plugin]
        return self._manager.subset_hook_caller(hook, others)(**arguments)

    def guarded(self, plugin: str, question: Callable[[], Answer]) -> Answer | None:
        """Put a question to a loaded plugin; a failure takes it out and gives None, but a ZooError is for the user."""
        try:
            return question()
        except PluginError as error:
            failure: Exception = error
        except ZooError:
            raise
        except Exception as error:
            failure = error
        self._forget(plugin)
        at = next(i for i, info in enumerate(self.infos) if info.name == plugin and info.status == "ok")
        self.infos[at] = self._lost(self.infos[at], failure)
        warn(self.infos[at])
        return None

    def _load(self, candidate: Candidate, allowed: list[Candidate]) -> PluginInfo:
        reason = discovery.disabled(candidate)
        info = PluginInfo(
            name=candidate.name,
            distribution=candidate.distribution,
            version=candidate.version,
            status="disabled" if reason else "ok",
            cause=reason,
        )
        if reason:
            return info
        try:
            _check_name(candidate, allowed)
            records = self._take(candidate.name, candidate.load())
        except (Exception, SystemExit) as error:
            return self._lost(info, error)
        return replace(info, models=len(records["zoo_models"]))

    def _take(self, name: str, plugin: Any) -> dict[str, list[Any]]:
        api = getattr_static(plugin, "ZOO_PLUGIN_API", hookspecs.ZOO_PLUGIN_API)
        if api != hookspecs.ZOO_PLUGIN_API:
            raise _IncompatibleError(f"written for plugin API {api}, this zoo has {hookspecs.ZOO_PLUGIN_API}")
        self._objects[name] = plugin
        try:
            self._register(name, plugin)
            self.records[name] = {kind.hook: checked(kind, self.ask(name, kind.hook), name) for kind in KINDS}
        except BaseException:
            self._forget(name)
            raise
        return self.records[name]

    def _register(self, name: str, plugin: Any) -> None:
        self._manager.register(plugin, name=name)
        self._manager.check_pending()
        for caller in self._manager.get_hookcallers(plugin) or ():
            for impl in caller.get_hookimpls():
                if impl.plugin is plugin and impl.kwargnames:
                    names = ", ".join(impl.kwargnames)
                    raise PluginError(f"{caller.name} has a default for {names}, so it would never get the zoo's value")

    def _forget(self, name: str) -> None:
        self._manager.unregister(name=name)
        self._objects.pop(name, None)
        self.records.pop(name, None)

    def _lost(self, info: PluginInfo, error: BaseException) -> PluginInfo:
        cause = f"{type(error).__name__}: {error}".rstrip(": ").removeprefix("_IncompatibleError: ") + advice(error)
        if discovery.strict():
            raise PluginError(f"Plugin '{info.name}' is left out: {cause}") from error
        self.failures.setdefault(info.name, error)
        return replace(
            info,
            status="incompatible" if isinstance(error, _IncompatibleError) else "failed",
            models=0,
            cause=cause,
            traceback="".join(traceback.format_exception(error)),
        )


def warn(info: PluginInfo) -> None:
    """Warn of a plugin that was taken out."""
    source = f" ({info.distribution} {info.version})" if info.distribution else ""
    text = f"Plugin '{info.name}'{source} is left out: {info.cause} (run 'zoo plugins --debug' for its traceback)"
    warnings.warn(text, stacklevel=2)


def _check_name(candidate: Candidate, allowed: list[Candidate]) -> None:
    check_legal(candidate.name, "plugin")
    if candidate.name in RESERVED:
        raise PluginError(f"plugin name '{candidate.name}' is reserved")
    rivals = [other for other in allowed if other.name == candidate.name and other is not candidate]
    if rivals and not candidate.built_in:
        raise PluginError(
            f"plugin name '{candidate.name}' of {candidate} is also taken by {' and '.join(map(str, rivals))}: "
            "uninstall one, or name its distribution in ZOO_DISABLE_PLUGINS"
        )
