"""`zoo.train`, the function. Imports no torch; torch and Fabric are imported when it is called."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from warnings import warn

from zoo.errors import ConfigError, DataError, WeightsError
from zoo.registry.entry_loading import require
from zoo.spec import Requirement
from zoo.training.config import Devices, Settings, check_type, split_off

if TYPE_CHECKING:
    from torch import Tensor

    from zoo.data.corpus import Corpus
    from zoo.data.python.given import GivenData
    from zoo.training.callbacks.callback import Callback
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
    train: "str | Corpus | Any" = None,
    validation: Any = None,
    test: Any = None,
    *,
    columns: Mapping[str, str] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    weights: Any = None,
    pretrained: bool | None = None,
    progress: bool = False,
    command: str = "",
    callbacks: "Sequence[Callback]" = (),
    loss: "Callable[[Tensor, Tensor], Tensor] | None" = None,
    **overrides: Any,
) -> "Trained":
    """Train a model on data.

    Args:
        name: of the model.
        train: name of a source such as `reverse` or `folder:PATH`, a path, or a corpus of your own; or examples: a list
            of pairs (input, target), a `torch.utils.data.Dataset`, arrays `(X, y)`, a `datasets.Dataset`, a pandas
            frame, or a `datasets.DatasetDict` of all parts.
        validation: examples of the same kind, which choose the checkpoint; None draws them from those for training.
        test: examples of the same kind, which are reported on; None draws them from those for training.
        columns: of examples with named columns, the column of each role, such as `{"label": "species"}`.
        out: run folder, for the model and its checkpoints; None saves nothing.
        resume: resume the training in `out` exactly from its newest checkpoint; start if there is none.
        overwrite: remove the training in `out` first.
        weights: to start from, as for `zoo.create`.
        pretrained: start from the published weights, as for `zoo.create`: those of a repository by default.
        progress: show progress.
        command: that repeats this training, for the record.
        callbacks: objects of sub-classes of `zoo.training.Callback`, called at each step; they may end the training.
        loss: `(answer, target) -> mean loss` in place of that of the data. `metric=` may be such a function too, of the
            answers and targets of a split, and `logger=` a logger of Lightning Fabric.
        overrides: the fields of `zoo.training.config.Settings` and `Devices`; all others override the model's
            configuration.

    Raises:
        ConfigError: If a value does not fit, or `out` holds something else; as `FolderInUseError`, if another process
            trains in `out`.
        DataError: If the data cannot be used.
        WeightsError: If weights or checkpoints cannot be read or written.
        MissingLibraryError: If a library is not installed.
    """
    _check_name(name)
    require("zoo train", TRAIN)
    from zoo.factory.keywords import handed_on
    from zoo.training.distributed.devices import is_first_process
    from zoo.training.extensions import Extensions
    from zoo.training.initial_model import InitialModel
    from zoo.training.losses.own_loss import name_of
    from zoo.training.resume.random_state import process_state_restored
    from zoo.training.resume.run_folder import RunFolder
    from zoo.training.trainer import Trainer

    if "data" in overrides or isinstance(validation, str | Path):
        train, validation, out = _of_earlier_call(train, validation, out, overrides)
    _check_paths(train, weights)
    data = _data(train, {"validation": validation, "test": test}, columns)
    own = {name: overrides.pop(name) for name in ("metric", "logger") if _is_own(overrides.get(name))}
    extensions = Extensions.of(callbacks, loss, own.get("metric"), own.get("logger"))
    if extensions.metric is not None:
        overrides["metric"] = name_of(extensions.metric)
    settings, devices = split_off(Settings, overrides), split_off(Devices, overrides)
    initial = InitialModel(name, weights, pretrained, {k: value for k, value in overrides.items() if value is not None})
    folder = RunFolder(None if out is None else Path(out).expanduser(), resume, overwrite)
    held = folder.held((name, weights)) if is_first_process() else nullcontext()
    with held, process_state_restored(), handed_on("zoo.train", _parameters()):
        return Trainer(initial, settings, devices, folder, progress, command, extensions).train(data)


def _check_name(name: Any) -> None:
    """Check that a model is told by its name.

    Raises:
        ConfigError: If it is not; the error says how the model itself is trained on.
    """
    own = getattr(getattr(name, "spec", None), "name", None)
    if own is not None:
        raise ConfigError(
            f"name={type(name).__name__}: zoo.train makes the model by its name; zoo.train({own!r}, ..., "
            "weights=model.state_dict()) starts from the weights of this one"
        )
    check_type("name", name, str)


def _is_own(value: Any) -> bool:
    """Tell whether a setting is an object of the user, not a name."""
    return value is not None and not isinstance(value, str)


def _parameters() -> Mapping[str, inspect.Parameter]:
    return inspect.signature(train).parameters


def _of_earlier_call(train: Any, validation: Any, out: Any, overrides: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Read `zoo.train(name, data, out)`, as it was before 0.2; `data=` too."""
    warn(
        "zoo.train(name, data, out) is deprecated since 0.2 and goes in 0.4: write zoo.train(name, train, out=FOLDER)",
        DeprecationWarning,
        stacklevel=3,
    )
    train = overrides.pop("data", train)
    return (train, None, validation if out is None else out) if isinstance(validation, str | Path) else (
        train, validation, out
    )  # fmt: skip


def _data(given: Any, held_out: Mapping[str, Any], columns: Mapping[str, str] | None) -> "str | Corpus | GivenData":
    """Tell names and corpora, which have parts of their own, from examples.

    Raises:
        ConfigError: If parts are given of a name or a corpus.
    """
    from zoo.data.python.given import GivenData, is_given

    if is_given(given):
        return GivenData({"train": given, **held_out}, dict(columns or {}))
    others = {part: value for part, value in held_out.items() if value is not None}
    others |= {"columns": columns} if columns else {}
    if others:
        name, value = next(iter(others.items()))
        shown = repr(given) if isinstance(given, str | Path) else f"the corpus {given.name!r}"
        raise ConfigError(
            f"{name}={value!r} with {shown}, which has parts and columns of its own: write them behind it, as "
            "?validation=FILE or ?label=COLUMN"
        )
    return str(given) if isinstance(given, Path) else given
