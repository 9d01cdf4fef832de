"""Checks of exported programs: the same answers as PyTorch, at other sizes than those of the trace."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from zoo.deploy.programs import Program
from zoo.deploy.write import RUNTIME
from zoo.errors import ExportError
from zoo.registry import require

TOLERANCE = 1e-4
"""Largest difference, over the largest number of the answer or 1."""

Runs = Callable[[Sequence[Tensor]], list[np.ndarray]]


def runner(path: Path, names: Sequence[str], threads: int = 0) -> Runs:
    """Give what computes an ONNX file by onnxruntime, or a PT2 file by PyTorch.

    Args:
        path: of the file.
        names: of its inputs.
        threads: of onnxruntime; 0 for as many as it takes.

    Raises:
        MissingLibraryError: If onnxruntime is not installed.
        ExportError: If onnxruntime does not load the file.
    """
    if path.suffix == ".pt2":
        module = torch.export.load(str(path)).module(check_guards=False)
        return lambda inputs: [x.detach().numpy() for x in tree_leaves(module(*inputs))]
    require("checking an ONNX file (--no-check leaves that out)", (RUNTIME,))
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises classes of its own
        version = onnxruntime.__version__
        raise ExportError(f"onnxruntime {version} does not load {path.name}: {_first(error)}") from error
    known = {one.name for one in session.get_inputs()}

    def run(inputs: Sequence[Tensor]) -> list[np.ndarray]:
        given = {name: x.numpy() for name, x in zip(names, inputs, strict=True) if name in known}
        return session.run(None, given)

    return run


def check(program: Program, path: Path, limit: float | None = TOLERANCE) -> float:
    """Compare a file's answers with PyTorch's at the sizes of all cases but the first, which was traced.

    Args:
        program: what was exported.
        path: of the file.
        limit: of the difference; None for any.

    Returns:
        The largest difference, over the largest number of the answer or 1.

    Raises:
        ExportError: If it is more than the limit, or the file does not run at a size.
    """
    worst = 0.0
    for shapes, found, expected in _answers(program, path):
        pairs = zip(found, expected, strict=True)
        worst = float(np.max([worst, *(difference(*pair) for pair in pairs)]))  # unlike max, it keeps NaN
        if limit is not None and not worst <= limit:
            raise ExportError(f"{path.name} differs from PyTorch by {worst:.1e} at {shapes}: more than {limit}")
    return worst


def agreement(program: Program, path: Path) -> float:
    """Give the share of answers whose largest number stands where PyTorch's does, at the sizes that `check` takes.

    Args:
        program: what was exported.
        path: of the file.

    Raises:
        ExportError: If the file does not run at a size.
    """
    pairs = [(found[0].argmax(-1), expected[0].argmax(-1)) for _, found, expected in _answers(program, path)]
    return float(np.concatenate([(found == expected).ravel() for found, expected in pairs]).mean())


def _answers(program: Program, path: Path) -> Iterator[tuple[str, list[np.ndarray], list[np.ndarray]]]:
    """Yield the shapes of inputs, a file's answers and PyTorch's, for all cases but the first, which was traced."""
    run = runner(path, program.names)
    for case in program.cases[1:]:
        shapes = ", ".join(f"{name} {tuple(x.shape)}" for name, x in zip(program.names, case, strict=True))
        with torch.no_grad():
            expected = [x.numpy() for x in tree_leaves(program.module(*case))]
        try:
            found = run(case)
        except Exception as error:  # onnxruntime raises classes of its own
            raise ExportError(f"{path.name} does not run at {shapes}: {_first(error)}") from error
        yield shapes, found, expected


def _first(error: Exception) -> str:
    """Give the first line of an error's text."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def difference(found: Any, expected: Any) -> float:
    """Give the largest difference, over the largest number or 1; infinite for another shape."""
    if found.shape != expected.shape:
        return float("inf")
    if not expected.size:
        return 0.0
    if expected.dtype == bool:
        return float((found != expected).any())
    return float(np.abs(found - expected).max() / max(1.0, np.abs(expected).max()))
