"""The folder of an exported model: programs, a description, tokenizer, labels, and the script that runs them."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.data import write_text
from zoo.deploy.programs import Program
from zoo.errors import ConfigError
from zoo.factory import create
from zoo.pipeline import Pipeline

DESCRIPTION = "export.json"
SCRIPT = "run.py"
TOKENIZER = "tokenizer.json"


@dataclass(frozen=True)
class Assets:
    """What a folder holds beside the programs.

    Args:
        input: how raw inputs are prepared: `portable` of the model or its preprocessing.
        labels: their names; none where the weights tell none.
        tokenizer: of what the model reads or writes.
        output: how answers are made readable: `portable` of the postprocessing; none where scores are.
    """

    input: Mapping[str, Any]
    labels: Sequence[str] = ()
    tokenizer: Any = None
    output: Mapping[str, Any] | None = None


TENSORS = Assets({"kind": "tensors"})
"""Of a model that reads arrays by name."""


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


def remove_last(path: Path) -> None:
    """Remove the files of an export that a folder holds, so that none is read with those of the next; others stay.

    Args:
        path: of the folder.
    """
    try:
        programs = json.loads((path / DESCRIPTION).read_text(encoding="utf-8"))["programs"].values()
        files = [program["file"] for program in programs]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return  # no export
    for name in (*files, *(f"{name}.data" for name in files), TOKENIZER, SCRIPT, DESCRIPTION):
        (path / Path(name).name).unlink(missing_ok=True)


def assets_of(model: Any, name: str | None) -> Assets:
    """Find preprocessing, labels and tokenizer of a model.

    Args:
        model: the model.
        name: of its weights, with which labels and tokenizer lie; None for those that the model names itself.

    Raises:
        ZooError: If there should be some, and they cannot be found or read.
    """
    named, spec, reads, answers = model if name is None else name, model.spec, None, None
    if spec.preprocess:
        reads = create.preprocess(named)
    if name is not None:
        answers = Pipeline(name).postprocess
    elif spec.postprocess:
        answers = create.postprocess(named)
    owners = model, getattr(model, "stem", None), reads  # a joined model's stem is its encoder
    portable = next((found for owner in owners if (found := getattr(owner, "portable", None)) is not None), None)
    labels = getattr(answers, "labels", None) or getattr(answers, "names", None)
    tokenizer = getattr(reads, "tokenizer", None)
    writes = getattr(answers, "tokenizer", None) if spec.task == "generate" else None
    if tokenizer is None:
        tokenizer = writes
    elif writes is not None and writes.content != tokenizer.content:
        raise ConfigError(
            f"'{spec.name}' has a tokenizer for each side, and an exported folder holds one: give the writer's to both "
            "(train without source_tokenizer=), or run it here, by zoo generate and zoo serve"
        )
    written = getattr(answers, "portable", None)
    reading = portable() if portable else TENSORS.input
    return Assets(reading, list(labels or ()), tokenizer, written() if written else None)


def write_folder(path: Path, model: Any, assets: Assets, found: Mapping[Program, Path]) -> None:
    """Write the description, the tokenizer where there is one, and the script.

    Args:
        path: of the folder.
        model: the model.
        assets: what lies beside its programs.
        found: files of these.
    """
    about = _describe(model, assets, found)
    write_text(path / DESCRIPTION, json.dumps(about, indent=2, ensure_ascii=False) + "\n")
    if assets.tokenizer is not None:
        assets.tokenizer.save(path / TOKENIZER)
    shutil.copyfile(Path(__file__).with_name(SCRIPT), path / SCRIPT)  # not imported: it needs onnxruntime


def _describe(model: Any, assets: Assets, found: Mapping[Program, Path]) -> dict[str, Any]:
    spec, symbols = model.spec, getattr(model, "symbols", None)
    return {
        "model": spec.name,
        "task": spec.task,
        "modality": spec.modality,
        "programs": {program.name: described(program, path) for program, path in found.items()},
        "input": assets.input,
        "output": assets.output,
        "labels": assets.labels,
        "symbols": None if symbols is None else dict(zip(("pad", "bos", "eos"), symbols[:3], strict=True)),
        "silent": [] if assets.tokenizer is None else sorted(assets.tokenizer.silent),
        "max_len": getattr(model, "max_len", None),
        "max_steps": getattr(model, "max_steps", None),
        "ctc": hasattr(model, "emit"),
        "writes": spec.task == "generate",
    }


def described(program: Program, path: Path) -> dict[str, Any]:
    """Describe a program: its file, inputs (`None` is an axis of any size) and outputs."""
    dynamic, inputs = program.dynamic_axes(), []
    for name, x, axes in zip(program.names, program.cases[0], dynamic, strict=True):
        shape = [None if axis in axes else size for axis, size in enumerate(x.shape)]
        inputs.append({"name": name, "dtype": str(x.dtype).removeprefix("torch."), "shape": shape})
    return {"file": path.name, "inputs": inputs, "outputs": list(program.outputs)}
