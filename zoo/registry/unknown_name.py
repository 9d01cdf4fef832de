"""Errors of unknown model names: similar names, how many models there are, and plugins that failed to load."""

import os
from collections.abc import Iterable, Mapping, Sequence

from zoo.errors import UnknownModelError, UnknownSourceError
from zoo.names import counted, did_you_mean, listed, matches, normalise, split_prefix
from zoo.registry.catalogue import Catalogue
from zoo.spec import ModelSpec, PluginInfo
from zoo.version import __version__


def unknown_model(
    name: str, models: Catalogue[ModelSpec], plugins: Sequence[PluginInfo], failures: Mapping[str, BaseException]
) -> tuple[UnknownModelError, BaseException | None]:
    """Make the error for an unknown name, and the failure that may be its cause.

    With a plugin's prefix only that plugin's failure counts; without one any failed plugin may have had the name.
    """
    prefix, rest = split_prefix(name)
    mentioned = [info for info in plugins if info.status != "ok" and normalise(prefix) in ("", info.name)]
    own = [spec.name for spec in models if spec.plugin == normalise(prefix)]
    near = did_you_mean(rest, own) if own else did_you_mean(name, models.names())
    lines = [f"Unknown model ({name}).{near}", _how_many(rest, models)]
    known = {info.name for info in plugins}
    if os.path.exists(os.path.expanduser(name)):
        lines.append(_of_path(name))
    elif _is_elsewhere(name, prefix, known):
        lines.append(
            f"A repository on the Hugging Face hub is 'hf-hub:org/name', a folder 'local-dir:{rest}', "
            f"a checkpoint file goes to weights=; plugins are {listed(sorted(known)) or 'none'}."
        )
    for info in mentioned:
        what = "is disabled" if info.status == "disabled" else "failed to load"
        version = f" {info.version}" if info.version else ""
        lines.append(f"Plugin '{info.name}'{version} {what}: {info.cause} (run 'zoo plugins').")
    error = (UnknownSourceError if _is_elsewhere(name, prefix, known) else UnknownModelError)("\n".join(lines))
    return error, _cause(failures, {info.name: None for info in mentioned})


def unknown_tag(tag: str, spec: ModelSpec) -> UnknownModelError:
    """Make the error for a tag that a model does not have."""
    valid = f"Valid tags: {listed(spec.weights)}." if spec.weights else "It has no published weights."
    return UnknownModelError(f"Unknown tag ({tag}) of model '{spec.name}'.{did_you_mean(tag, spec.weights)} {valid}")


def _is_elsewhere(name: str, prefix: str, known: set[str]) -> bool:
    return bool(set(name) & set("/\\")) or (":" in name and normalise(prefix) not in known)


def _of_path(name: str) -> str:
    if os.path.isdir(os.path.expanduser(name)):
        return f"There is a folder of that name: write 'local-dir:{name}' for the model in it, with its weights."
    return f"There is a file of that name: a model is made by name, and weights={name!r} loads a checkpoint into it."


def _how_many(name: str, models: Catalogue[ModelSpec]) -> str:
    names = models.names()
    family = f"{name.replace('_', '-').split('-')[0]}*"
    alike = sum(matches(other, family) for other in names)
    plugins = len({spec.plugin for spec in models})
    shows = f"zoo.list_models('{family}') shows {alike}" if alike else "zoo.list_models() names them"
    return f"{counted(len(names), 'model')} from {counted(plugins, 'plugin')} (zoo {__version__}); {shows}."


def _cause(failures: Mapping[str, BaseException], plugins: Iterable[str]) -> BaseException | None:
    errors = [failures[plugin] for plugin in plugins if plugin in failures]
    if len(errors) > 1:
        return BaseExceptionGroup("plugins that failed to load", errors)
    return errors[0] if errors else None
