"""The folder of an exported model: programs, a description, tokenizer, labels, and the script that runs them."""

import json
import shutil
from pathlib import Path
from typing import Any

import zoo.deploy.run
from zoo.data import write_text
from zoo.deploy.programs import Program
from zoo.errors import ConfigError, ZooError
from zoo.factory import create

DESCRIPTION = "export.json"
SCRIPT = "run.py"


def check_folder(path: Path, overwrite: bool) -> None:
    """Check that a folder is new or empty, before anything is computed.

    Args:
        path: of the folder.
        overwrite: whether files in it may be replaced.

    Raises:
        ConfigError: If it is a file, or holds something and `overwrite` is false.
    """
    if path.exists() and not path.is_dir():
        raise ConfigError(f"--out {str(path)!r} is a file: name a new folder")
    if path.is_dir() and any(path.iterdir()) and not overwrite:
        raise ConfigError(f"--out {str(path)!r} is not empty: name a new folder, or say --overwrite")


def describe(model: Any, name: str | None, found: dict[Program, Path]) -> dict[str, Any]:
    """Describe an exported model as JSON values.

    Args:
        model: the model.
        name: by which preprocessing and labels are found; None for the model's own.
        found: files of its programs.
    """
    spec = model.spec
    symbols = getattr(model, "symbols", None)
    return {
        "model": spec.name,
        "task": spec.task,
        "modality": spec.modality,
        "programs": {program.name: described(program, path) for program, path in found.items()},
        "input": _input(model, model if name is None else name),
        "labels": _labels(model if name is None else name),
        "symbols": None if symbols is None else dict(zip(("pad", "bos", "eos"), symbols[:3], strict=True)),
        "max_len": getattr(model, "max_len", None),
        "ctc": hasattr(model, "emit"),
        "writes": spec.task == "generate",
    }


def write_folder(path: Path, about: dict[str, Any], name: Any) -> None:
    """Write the description, the tokenizer where there is one, and the script.

    Args:
        path: of the folder.
        about: see `describe`.
        name: of the model, or the model itself, by which its tokenizer is found.
    """
    write_text(path / DESCRIPTION, json.dumps(about, indent=2, ensure_ascii=False) + "\n")
    tokenizer = _tokenizer(name)
    if tokenizer is not None:
        tokenizer.save(path / "tokenizer.json")
    shutil.copyfile(zoo.deploy.run.__file__, path / SCRIPT)


def described(program: Program, path: Path) -> dict[str, Any]:
    """Describe a program: its file, inputs (`None` is an axis of any size) and outputs."""
    dynamic, inputs = program.dynamic_axes(), []
    for name, x, axes in zip(program.names, program.cases[0], dynamic, strict=True):
        shape = [None if axis in axes else size for axis, size in enumerate(x.shape)]
        inputs.append({"name": name, "dtype": str(x.dtype).removeprefix("torch."), "shape": shape})
    return {"file": path.name, "inputs": inputs, "outputs": list(program.outputs)}


def _input(model: Any, name: Any) -> dict[str, Any]:
    """Say how raw inputs are prepared, as `portable` of the model or its preprocessing does; tensors without."""
    try:
        portable = getattr(model, "portable", None) or getattr(create.preprocess(name), "portable", None)
    except ConfigError:
        return {"kind": "tensors"}
    return {"kind": "tensors"} if portable is None else portable()


def _labels(name: Any) -> list[str]:
    try:
        return list(getattr(create.postprocess(name), "labels", None) or [])
    except ZooError:
        return []


def _tokenizer(name: Any) -> Any:
    """Find the tokenizer of what the model reads, or writes."""
    for make in (create.preprocess, create.postprocess):
        try:
            tokenizer = getattr(make(name), "tokenizer", None)
        except ZooError:
            continue
        if tokenizer is not None:
            return tokenizer
    return None
