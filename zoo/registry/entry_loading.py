"""Import of entries `package.module:attribute`, and checks of the libraries they need."""

from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from zoo.errors import MissingLibraryError, PluginError, ZooError
from zoo.registry.moved_name import advice
from zoo.spec import AttentionSpec, ModelSpec, Requirement, SourceSpec, StudySpec


def load(spec: ModelSpec | AttentionSpec | SourceSpec | StudySpec, entry: str | None = None) -> Any:
    """Import an entry of a record (by default `entry`), after a check that its libraries are installed.

    Raises:
        MissingLibraryError: If a library is not installed, or does not import.
        PluginError: If the entry does not import.
    """
    require(spec.name, spec.requires)
    entry = entry or spec.entry
    module, colon, attribute = entry.partition(":")
    if not (module and colon and attribute):
        raise PluginError(f"'{spec.name}' of plugin '{spec.plugin}': entry {entry!r} is not 'package.module:attribute'")
    try:
        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except ZooError:
        raise
    except Exception as error:
        broken(spec.name, spec.requires)
        told = f"{error!r}{advice(error)}"
        raise PluginError(f"'{spec.name}' of plugin '{spec.plugin}': {entry!r} does not import: {told}") from error
    return found


def require(name: str, requirements: Iterable[Requirement]) -> None:
    """Check that libraries are installed; nothing is imported.

    Raises:
        MissingLibraryError: If one is not; the text says what to install.
    """
    missing = [requirement for requirement in requirements if not _installed(requirement.module)]
    if missing:
        libraries = " and ".join(requirement.distribution for requirement in missing)
        installs = " ".join(dict.fromkeys(f'"{requirement.install}"' for requirement in missing))
        raise MissingLibraryError(f"'{name}' needs {libraries}: pip install {installs}")


def broken(name: str, requirements: Iterable[Requirement]) -> None:
    """Find the library that is installed but does not import.

    Raises:
        MissingLibraryError: If there is one; its own error is the cause.
    """
    for requirement in requirements:
        try:
            import_module(requirement.module)
        except Exception as error:
            raise MissingLibraryError(
                f"'{name}' needs {requirement.distribution}, which is installed but does not import: "
                f"{type(error).__name__}: {error}"
            ) from error


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ModuleNotFoundError, ValueError):
        return False
