"""`zoo.export`: a model as a folder that onnxruntime runs without this library, or as programs of `torch.export`."""

import time
from collections.abc import Callable
from copy import deepcopy
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from zoo.core import is_quantized
from zoo.deploy import bundle
from zoo.deploy.check import agreement
from zoo.deploy.check import check as compare
from zoo.deploy.programs import Program, programs
from zoo.deploy.write import LIBRARIES, RUNTIME, quantize, traced, write_onnx, write_pt2, written
from zoo.errors import ConfigError, ExportError, MissingLibraryError, WeightsError, ZooError
from zoo.pipeline import Pipeline
from zoo.registry import require
from zoo.weights import hub

FORMATS = ("onnx", "pt2")


def export(
    model_or_run: Any,
    path: str | PathLike[str],
    to: str = "onnx",
    check: bool = True,
    *,
    int8: bool = False,
    overwrite: bool = False,
    tell: Callable[[str], object] = lambda line: None,
) -> Path:
    """Export a model to a folder: programs, a description, tokenizer, labels, and `run.py`, which needs no torch.

    A model that answers is one program, `model`; one that writes is `decode`, whose cache of keys and values is an
    input and an output, behind `encode` where it has an encoder. Rows and lengths are dynamic. Models of sounds read
    log-mel features, which `run.py` computes. No compiler is needed.

    Args:
        model_or_run: a model of `zoo.create`, which stays as it is, a name, a folder of `zoo train`, or
            `hf-hub:org/name`.
        path: of the folder, new or empty; it has its files at once when all are written.
        to: `onnx`, or `pt2` for `torch.export.load`, which needs torch.
        check: compare the answers with PyTorch's at three other sizes, to 1e-4.
        int8: weights of matrix products in 8 bits, by onnxruntime; the difference is told and has no limit.
        overwrite: whether files in the folder may be replaced.
        tell: is given a line for each step.

    Returns:
        The folder.

    Raises:
        ConfigError: If a value does not fit, or the folder is not empty.
        ExportError: If the model, or a part of it, cannot be exported, or does not give the same answers.
        MissingLibraryError: If onnx, onnxscript or onnxruntime is not installed.
    """
    if to not in FORMATS:
        raise ConfigError(f"to={to!r} is not one of {', '.join(FORMATS)}")
    if int8 and to != "onnx":
        raise ConfigError(f"int8 with to={to!r}: onnxruntime quantises ONNX files only")
    if to == "onnx":
        require("exporting to ONNX", (*LIBRARIES, *((RUNTIME,) if check or int8 else ())))
    folder = Path(path).expanduser()
    bundle.check_folder(folder, overwrite)
    name = _name(model_or_run)
    model = model_or_run if name is None else _loaded(name)
    if is_quantized(model):
        raise ConfigError(f"'{model.spec.name}' has int8 weights: export the model in float32, with --int8")
    if others := sorted({str(x.dtype) for x in model.parameters()} - {"torch.float32"}):
        raise ConfigError(f"'{model.spec.name}' has weights of {', '.join(others)}: give model.float()")
    assets = _assets(model, name, tell)
    folder.parent.mkdir(parents=True, exist_ok=True)
    if name is None:
        model = deepcopy(model)  # the caller's keeps its device, and each part its mode
    with TemporaryDirectory(prefix=f"{folder.name}-", dir=folder.parent) as made:
        files = _files(model.cpu().eval(), Path(made), to, check, int8, tell)
        bundle.write_folder(Path(made), model, assets, files)
        folder.mkdir(exist_ok=True)
        bundle.remove_last(folder)
        for path in Path(made).iterdir():
            path.replace(folder / path.name)
    return folder


def _name(model_or_run: Any) -> str | None:
    if isinstance(model_or_run, str | PathLike):
        return Pipeline(str(model_or_run)).name
    if getattr(model_or_run, "spec", None) is None:
        raise ConfigError(f"{type(model_or_run).__name__} has no spec: give a name, or a model that zoo.create made")
    return None


def _loaded(name: str) -> Any:
    """Give a model with its weights; where a name has none, the error says how to go without."""
    try:
        return Pipeline(name).model
    except WeightsError as error:
        if hub.is_repository(name):
            raise
        raise WeightsError(
            f"{error}\nWith drawn weights: zoo export {name} --random, or a model of zoo.create"
        ) from error


def _assets(model: Any, name: str | None, tell: Callable[[str], object]) -> bundle.Assets:
    """Find what lies beside the programs; a model without a name goes without, which is told."""
    try:
        return bundle.assets_of(model, name)
    except MissingLibraryError:
        raise
    except ZooError as error:
        if name is not None:
            raise ExportError(
                f"{name!r} is not exported without its preprocessing, tokenizer and labels: {error}"
            ) from error
        tell(f"without preprocessing, tokenizer and labels, so run.py reads arrays (.npz) only: {error}")
        return bundle.TENSORS


def _files(
    model: Any, folder: Path, to: str, check: bool, int8: bool, tell: Callable[[str], object]
) -> dict[Program, Path]:
    """Write the programs of a model, each checked."""
    found = {}
    for program in programs(model):
        start, path = time.perf_counter(), folder / f"{program.name}.{to}"
        tell(f"{program.name}: tracing")
        exported = traced(program)
        if to == "onnx":
            write_onnx(exported, program, path)
        else:
            write_pt2(exported, path)
        said = f"differs from PyTorch by {compare(program, path):.1e} at most" if check else "not checked"
        if int8:
            quantize(path)
            said += f"; in int8: {_quality(program, path)}" if check else ", in int8"
        size = sum(file.stat().st_size for file in written(path)) / 1e6
        tell(f"{path.name}: {size:.1f} MB, {said} ({time.perf_counter() - start:.0f} s)")
        found[program] = path
    if not found:
        raise ExportError(f"'{model.spec.name}' has no program")
    return found


def _quality(program: Program, path: Path) -> str:
    worst, same = compare(program, path, None), agreement(program, path)
    return f"by {worst:.1e}, and {same:.0%} of the largest scores are of the same class or token"
