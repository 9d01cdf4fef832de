"""`zoo.train`, the function. Imports no torch; torch and Fabric are imported when it is called."""

import inspect
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from zoo.errors import ConfigError, DataError, WeightsError
from zoo.registry.entry_loading import require
from zoo.spec import Requirement
from zoo.training.config import Devices, Settings, split_off

if TYPE_CHECKING:
    from zoo.data.corpus import Corpus
    from zoo.training.trainer import Trained

F = TypeVar("F", bound=Callable[..., Any])
TRAIN = (Requirement(module="lightning_fabric", distribution="lightning-fabric", install="attention-zoo[train]"),)


def _documented(function: F) -> F:
    """Add the fields of `Settings` and `Devices` to a function's signature and docstring."""
    settings = (*fields(Settings), *fields(Devices))
    keywords = [
        inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=each.type)
        for each in settings
    ]
    signature = inspect.signature(function)
    *own, overrides = signature.parameters.values()
    function.__signature__ = signature.replace(parameters=[*own, *keywords, overrides])  # type: ignore[attr-defined]
    listed = "".join(f"{each.name}: {each.metadata['help']}\n        " for each in settings)
    function.__doc__ = (function.__doc__ or "").replace("overrides:", f"{listed}overrides:")
    return function


def _check_paths(data: Any, weights: Any) -> None:
    """Check that paths are there, before torch is imported; patterns, lists and named sources are checked later.

    Raises:
        DataError: If the data are not.
        WeightsError: If the weights are not.
    """
    for what, given, error in (("data", data, DataError), ("weights", weights, WeightsError)):
        text = str(given).partition("?")[0] if isinstance(given, str | Path) else ""
        path = "/" in text and not any(mark in text for mark in ":*[,")
        if path and not Path(text).expanduser().exists():
            raise error(f"{what}={str(given)!r}: there is no file or folder {text!r}")


@_documented
def train(
    name: str,
    data: "str | Corpus",
    out: str | Path | None = None,
    *,
    resume: bool = False,
    overwrite: bool = False,
    weights: Any = None,
    pretrained: bool | None = None,
    progress: bool = False,
    command: str = "",
    **overrides: Any,
) -> "Trained":
    """Train a model on data.

    Args:
        name: of the model.
        data: name of a source such as `reverse` or `folder:PATH`, a path, or a corpus of your own.
        out: run folder, for the model and its checkpoints; None saves nothing.
        resume: resume the training in `out` exactly from its newest checkpoint; start if there is none.
        overwrite: remove the training in `out` first.
        weights: to start from, as for `zoo.create`.
        pretrained: start from the published weights, as for `zoo.create`: those of a repository by default.
        progress: show progress.
        command: that repeats this training, for the record.
        overrides: the fields of `zoo.training.config.Settings` and `Devices`; all others override the model's
            configuration.

    Raises:
        ConfigError: If a value does not fit, or `out` holds something else; as `FolderInUseError`, if another process
            trains in `out`.
        DataError: If the data cannot be used.
        WeightsError: If weights or checkpoints cannot be read or written.
        MissingLibraryError: If a library is not installed.
    """
    _check_paths(data, weights)
    require("zoo train", TRAIN)
    from zoo.factory.keywords import handed_on
    from zoo.training.distributed.devices import is_first_process
    from zoo.training.initial_model import InitialModel
    from zoo.training.resume.random_state import process_state_restored
    from zoo.training.resume.run_folder import RunFolder
    from zoo.training.trainer import Trainer

    if not isinstance(data, str) and not all(hasattr(data, part) for part in ("task", "epoch", "batch", "score")):
        raise ConfigError(f"data={data!r} is neither the name of a source, a path, nor a corpus")
    settings, devices = split_off(Settings, overrides), split_off(Devices, overrides)
    initial = InitialModel(name, weights, pretrained, {k: value for k, value in overrides.items() if value is not None})
    folder = RunFolder(None if out is None else Path(out).expanduser(), resume, overwrite)
    held = folder.held((name, weights)) if is_first_process() else nullcontext()
    with held, process_state_restored(), handed_on("zoo.train", inspect.signature(train).parameters):
        return Trainer(initial, settings, devices, folder, progress, command).train(data)
