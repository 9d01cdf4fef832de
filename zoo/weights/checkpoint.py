"""Weights: read from files, repositories and state dicts, made to fit, and saved for `weights=` and the hub.

Nothing pickled but tensors is ever loaded.
"""

import json
import os
import tempfile
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from reprlib import repr as shortened
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from zoo.atomic_write import replace_synced
from zoo.core import is_quantized
from zoo.errors import WeightsError
from zoo.registry import entry_loading
from zoo.spec import ModelSpec
from zoo.version import __version__
from zoo.weights import hub
from zoo.weights.card import EVALUATION
from zoo.weights.config_values import is_shown, plain
from zoo.weights.int8_layout import as_floats

_SHOWN = 5
"""Keys named in an error, of each fault."""


class NoneExistError(WeightsError):
    """Report a model without published weights.

    Args:
        model: its name.
    """

    def __init__(self, model: str) -> None:
        super().__init__(
            f"No pretrained weights exist for {model}: leave out pretrained=True, and it is made with random ones"
        )
        self.model = model

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model,)


@dataclass(frozen=True)
class Checkpoint:
    """Checkpoint: tensors by key, their origin, and labels and task of the classifier.

    `repository` is where other files lie beside them, if they do; `quantization` are the keywords of `zoo.quantize` by
    which the model is to be quantised, whose weights stand in `state` as floats.
    """

    state: Mapping[str, Tensor]
    label: str
    num_classes: int | None = None
    task: str | None = None
    architecture: str | None = None
    repository: str | None = None
    quantization: Mapping[str, Any] | None = None


def find(spec: ModelSpec, tag: str, pretrained: bool, weights: Any) -> Checkpoint | None:
    """Get the checkpoint that `zoo.create` was asked for.

    Raises:
        WeightsError: If it cannot be read, or the model has no published weights.
    """
    if weights is not None:
        return read(weights)
    if not pretrained:
        return None
    if not spec.weights:
        raise NoneExistError(spec.name)
    return read(spec.weights[tag] if tag else next(iter(spec.weights.values())))


def read(source: Any) -> Checkpoint:
    """Read a state dict, a file, a folder, or a repository.

    Raises:
        WeightsError: If it is none of these, there is none, it cannot be read, it holds pickled code, or int8 weights
            without a `config.json` that says so.
    """
    if isinstance(source, Mapping):
        return Checkpoint(as_floats(_tensors(source, "the state dict"), "the state dict", None), "the state dict")
    if not isinstance(source, str | os.PathLike):
        raise WeightsError(_no_weights(source))
    text = os.fspath(source)
    if Path(text).is_dir() and not hub.is_repository(text):
        text = f"local-dir:{text}"
    if not hub.is_repository(text):
        return Checkpoint(as_floats(_read_file(Path(text).expanduser()), repr(text), None), repr(text))
    path = hub.fetch(text, hub.FILES)
    if path is None:
        raise WeightsError(f"{text!r} holds none of {', '.join(hub.FILES)}")
    config = hub.read_config(text)
    task, quantization = (config.get("model_args") or {}).get("task"), config.get("quantization")
    state = as_floats(_read_file(path), repr(text), quantization)
    return Checkpoint(
        state, repr(text), config.get("num_classes"), task, config.get("architecture"), text, quantization
    )


def labels(state: Mapping[str, Tensor], classifier: tuple[str, ...]) -> int | None:
    """Read off a classifier how many labels it has, if all its tensors are of one length."""
    lengths = {len(value) for key, value in state.items() if key.startswith(classifier) and value.ndim}
    return lengths.pop() if len(lengths) == 1 else None


def classifier(
    spec: ModelSpec, model: nn.Module, state: Mapping[str, Tensor], num_classes: int | None = None
) -> tuple[str, ...]:
    """Return the prefixes of the classifier's keys, from the model's spec or by comparing shapes.

    A model with labels has a row for each of them in its last such module; without labels, the classifier is
    what the checkpoint has besides the model, with a row for each label.

    Args:
        spec: of the model.
        model: with the labels that were asked for.
        state: the checkpoint, in the layout of the model.
        num_classes: labels of the checkpoint, if they are known.
    """
    if spec.classifier:
        return spec.classifier
    own = model.state_dict()
    if count := getattr(model, "num_classes", 0):
        rows = [key for key, value in own.items() if value.ndim and len(value) == count]
        return (rows[-1].rpartition(".")[0] + ".",) if rows else ()
    besides = {key: value for key, value in state.items() if key not in own and value.ndim}
    return tuple(key for key, value in besides.items() if num_classes in (None, len(value)))


def fit(
    model: nn.Module,
    checkpoint: Checkpoint,
    spec: ModelSpec,
    *,
    fresh: tuple[str, ...] = (),
    optional: tuple[str, ...] = (),
) -> dict[str, Tensor]:
    """Bring a checkpoint to the layout of a model and check that every key is there, and no other.

    Args:
        model: what the checkpoint is for.
        checkpoint: the weights.
        spec: of the model.
        fresh: how keys begin that are left out, and may be missing: of a classifier for other labels.
        optional: how keys begin of parts that may be missing, each as a whole: of the head.

    Raises:
        WeightsError: If keys are missing, left over or of another shape; the text shows the first of each.
    """
    found, own = (
        {key: value for key, value in tensors.items() if not key.startswith(fresh)}
        for tensors in (converted(model, checkpoint, spec), model.state_dict())
    )
    problems = {
        "missing": [key for key in own if key not in found],
        "left over": [key for key in found if key not in own],
        "of another shape": [
            f"{key} is {tuple(found[key].shape)}, the model's is {tuple(own[key].shape)}"
            for key in own
            if key in found and found[key].shape != own[key].shape
        ],
    }
    parts = {key.rpartition(".")[0] for key in found}
    lacking = [key for key in problems["missing"] if key.startswith(optional) and key.rpartition(".")[0] not in parts]
    if any(problems.values()) and problems != {"missing": lacking, "left over": [], "of another shape": []}:
        lines = [f"  {len(keys)} {what}: {_some(keys)}" for what, keys in problems.items() if keys]
        is_a = f" (a '{checkpoint.architecture}')" if checkpoint.architecture else ""
        raise WeightsError("\n".join([f"Weights of {checkpoint.label}{is_a} do not fit '{spec.name}':", *lines]))
    return found


def load(model: nn.Module, found: Mapping[str, Tensor], checkpoint: Checkpoint, replaced: Collection[str] = ()) -> None:
    """Load what `fit` gave; a warning lists what the checkpoint lacks, which stays as it was drawn.

    Args:
        model: what is loaded.
        found: the weights.
        checkpoint: where they are from.
        replaced: keys of parts that the checkpoint has for other labels, which nobody misses.
    """
    model.load_state_dict(found, strict=False)
    if lacking := [key for key in model.state_dict() if key not in found and key not in replaced]:
        warnings.warn(
            f"{checkpoint.label} has no weights for {', '.join(lacking)}: they are new, and have to be trained",
            stacklevel=4,  # where zoo.create is called
        )


def converted(model: nn.Module, checkpoint: Checkpoint, spec: ModelSpec) -> dict[str, Tensor]:
    """Bring a checkpoint to the layout of a model; nothing is checked."""
    state = dict(checkpoint.state)
    return dict(entry_loading.load(spec, spec.convert)(state, model)) if spec.convert else state


def save(model: nn.Module, folder: str | os.PathLike[str], preparation: Mapping[str, Any] | None = None) -> Path:
    """Save a model made by `zoo.create` for `weights=FOLDER` and, once uploaded, for `hf-hub:`.

    Where the plugin exports to another library, such as timm, that reads the folder too. Each file is whole or not
    there.

    Args:
        model: what to save.
        folder: where to.
        preparation: of its inputs, in the words of timm's `pretrained_cfg`.

    Raises:
        WeightsError: If the model was not made by name, a keyword was an object, only a part of it has int8 weights, or
            the folder cannot be written.
    """
    spec = getattr(model, "spec", None)
    if not isinstance(spec, ModelSpec):
        raise WeightsError(f"{type(model).__name__} has no spec: zoo.weights.save takes models made by zoo.create")
    objects = [f"{key}={value}" for key, value in spec.config.items() if is_shown(value)]
    if objects:
        raise WeightsError(
            f"'{spec.name}' was made with {', '.join(objects)}: an object cannot be saved. Make the model with a name "
            "instead, such as attention='causal', or keep torch.save(model.state_dict())"
        )
    # Cloned, because safetensors refuses tensors that share memory, and every key is wanted back.
    config, state = _described(model, spec, preparation or {})
    state = {key: value.detach().cpu().contiguous().clone() for key, value in state.items()}
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".saving-", dir=target) as scratch:
            save_file(state, Path(scratch) / "model.safetensors", metadata={"format": "pt"})
            text = json.dumps(config, indent=2) + "\n"
            (Path(scratch) / "config.json").write_text(text, encoding="utf-8")
            (target / EVALUATION).unlink(missing_ok=True)  # is of other weights
            for name in ("model.safetensors", "config.json"):
                replace_synced(Path(scratch) / name, target / name)
    except (OSError, SafetensorError) as error:
        raise WeightsError(f"Cannot save to {str(target)!r}: {error}") from error
    return target


def _no_weights(source: object) -> str:
    """Say what `weights=` takes in place of an object, and what to write for a module."""
    takes = "it takes a file, a folder, 'hf-hub:org/name' or a state dict"
    if isinstance(source, nn.Module):
        return f"weights={type(source).__name__}(…) is a module; {takes}: write weights=module.state_dict()"
    hint = "; pretrained=True loads the published weights" if source is True else ""
    return f"weights={shortened(source)} is of type {type(source).__name__}; {takes}{hint}"


def _some(keys: list[str]) -> str:
    return ", ".join(keys[:_SHOWN]) + (f", … {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else "")


def _described(
    model: nn.Module, spec: ModelSpec, preparation: Mapping[str, Any]
) -> tuple[dict[str, Any], Mapping[str, Tensor]]:
    """Give configuration and weights: another library's where it has such a model and its layout gives back ours."""
    model = getattr(model, "_orig_mod", model)  # of torch.compile
    config, state = _config(model, spec, preparation), stripped(model.state_dict())
    if is_quantized(model):
        if not hasattr(model, "quantization"):
            parts = [name for name, part in model.named_modules() if name and hasattr(part, "quantization")]
            raise WeightsError(
                f"'{spec.name}' has int8 weights in a part of it ({', '.join(parts)}), of which no folder tells: save "
                "zoo.quantize(model) of the whole float model, or keep torch.save(model.state_dict())"
            )
        return config | {"quantization": model.quantization}, state
    exported = entry_loading.load(spec, spec.export)(model) if spec.export else None
    if exported is None:
        return config, state
    theirs, weights = exported
    back = converted(model, Checkpoint(weights, "the export"), spec)
    if back.keys() != state.keys() or any(not torch.equal(back[key], state[key]) for key in state):
        return config, state
    ours = {key: config[key] for key in ("architecture", "model_args")}
    preparation = theirs.get("pretrained_cfg", {}) | config["pretrained_cfg"]
    return config | theirs | {"pretrained_cfg": preparation, "zoo": ours}, weights


def _config(model: nn.Module, spec: ModelSpec, preparation: Mapping[str, Any]) -> dict[str, Any]:
    # a vocabulary is no number of labels: a model that writes tokens is made again by its `vocab_size`
    writes = spec.task in ("generate", "masked-token")
    num_classes = None if writes else plain(getattr(model, "num_classes", spec.config.get("num_classes")))
    return {
        "architecture": spec.name,
        "num_classes": num_classes,
        "num_features": plain(getattr(model, "num_features", None)),
        "model_args": {key: plain(value) for key, value in spec.config.items() if key != "num_classes"},
        "pretrained_cfg": {"num_classes": num_classes, **preparation},
        "modality": spec.modality,
        "zoo_version": __version__,
        "plugin": spec.plugin,
    }


def _read_file(path: Path) -> Mapping[str, Tensor]:
    if not path.is_file():
        raise WeightsError(f"There is no file {str(path)!r}")
    try:
        if path.suffix == ".safetensors":
            return stripped(load_file(path))
        if path.suffix in (".pt", ".pth", ".bin"):
            return _tensors(torch.load(path, map_location="cpu", weights_only=True), repr(str(path)))
    except UnpicklingError as error:
        with path.open("rb") as file:
            start = file.read(20)
        if not start.startswith((b"PK", b"\x80")):
            raise WeightsError(
                f"{str(path)!r} is no checkpoint: it begins with {start!r}. Was a web page saved in its place? "
                "Download it again"
            ) from error
        raise WeightsError(
            f"{str(path)!r} is refused: it holds pickled code, which could do anything when loaded. "
            "Ask its author for a .safetensors file, or for torch.save(model.state_dict())"
        ) from error
    except (SafetensorError, RuntimeError, EOFError, OSError, ValueError, KeyError) as error:
        if isinstance(error, WeightsError):
            raise
        raise WeightsError(f"{str(path)!r} cannot be read: {type(error).__name__}: {error}") from error
    raise WeightsError(f"{str(path)!r}: weights are .safetensors, .pt, .pth or .bin files")


def _tensors(found: Any, label: str) -> Mapping[str, Tensor]:
    """Look into the wrappers that training scripts put around a state dict, as timm does."""
    for wrapper in ("state_dict_ema", "model_ema", "state_dict", "model"):
        if isinstance(found, Mapping) and isinstance(found.get(wrapper), Mapping):
            found = found[wrapper]
    if not isinstance(found, Mapping) or not all(isinstance(value, Tensor) for value in found.values()):
        raise WeightsError(f"{label} is no state dict: it holds something other than tensors by key")
    return stripped(found)


def stripped(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Take off the keys what wrappers put there: `_orig_mod.` of `torch.compile`, and `module.` of data parallelism."""
    found = {key.replace("_orig_mod.", ""): value for key, value in state.items()}
    while found and all(key.startswith("module.") for key in found):
        found = {key.removeprefix("module."): value for key, value in found.items()}
    return found
