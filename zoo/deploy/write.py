"""Writing programs as files: `torch.export`, then PT2 or ONNX, and int8 weights of the latter."""

import contextlib
import io
import logging
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from zoo.core import Pattern
from zoo.deploy.programs import Program
from zoo.errors import ConfigError, ExportError
from zoo.registry import require
from zoo.spec import Requirement

try:
    from torch.export import _patches
except ImportError:  # an older torch
    _patches = None  # type: ignore[assignment]

OPSET = 18
EXTRA = "attention-zoo[export]"
LIBRARIES = tuple(Requirement(module=name, distribution=name, install=EXTRA) for name in ("onnx", "onnxscript"))
RUNTIME = Requirement(module="onnxruntime", distribution="onnxruntime", install=EXTRA)


class _Positional(nn.Module):
    """Takes all inputs alike, so that one list says which of their axes are dynamic.

    Args:
        module: whose parameters may have names.
    """

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *inputs: Tensor) -> Any:
        """Give what the module gives."""
        return self.module(*inputs)


def traced(program: Program) -> Any:
    """Give the program of `torch.export`, whose lengths are symbols.

    Raises:
        ExportError: If a part of the model cannot be traced; the text names part and reason.
    """
    axes = tuple(dict.fromkeys(axes, torch.export.Dim.DYNAMIC) for axes in program.dynamic_axes())
    whole, inputs = _Positional(program.module), tuple(x.clone() for x in program.cases[0])  # none with sizes of a base
    with torch.no_grad(), _quiet(), _loops():
        try:
            return torch.export.export(whole, inputs, dynamic_shapes=(axes,), strict=False)
        except ConfigError as error:
            raise ExportError(f"{program.name}: {error}") from error
        except Exception as error:  # torch.export raises many classes
            raise ExportError(f"{program.name}: {_where(error)} cannot be traced: {_reason(error, program)}") from error


def write_pt2(exported: Any, path: Path) -> None:
    """Write a program for `torch.export.load`."""
    with _quiet():  # it warns of weights that are a view, whose values `check` compares
        torch.export.save(exported, str(path))


def write_onnx(exported: Any, program: Program, path: Path) -> None:
    """Write a program for onnxruntime; weights beyond 2 GB, and then only, stand in a second file.

    Raises:
        MissingLibraryError: If onnx or onnxscript is not installed.
        ExportError: If an operation has no form in ONNX.
    """
    require("exporting to ONNX", LIBRARIES)
    names, outputs = list(program.names), list(program.outputs)
    exported._guards_code = []  # torch.onnx 2.14 stumbles over guards of positional inputs; `check` tries sizes
    with _quiet(), _loops():
        try:
            torch.onnx.export(
                exported,
                (),
                str(path),
                input_names=names,
                output_names=outputs,
                opset_version=OPSET,
                dynamo=True,
                external_data=False,
                verbose=False,
            )
        except Exception as error:
            raise ExportError(f"{program.name}: not written as ONNX: {_reason(error, program)}") from error


def written(path: Path) -> list[Path]:
    """Give the files of a program: its own, and that of its weights where they stand in a second one."""
    return [file for file in (path, path.with_name(f"{path.name}.data")) if file.exists()]


def quantize(path: Path) -> None:
    """Turn the weights of matrix products of an ONNX file into int8, activations as they come; in place.

    Weights have 7 of the 8 bits: on processors without VNNI, onnxruntime adds two products in 16 bits, which 8 bits of
    both sides overflow. ViT-S was off by 1.8 there, with 7 bits by .08.

    Raises:
        MissingLibraryError: If onnxruntime is not installed.
    """
    require("int8 weights of an ONNX file", (RUNTIME, *LIBRARIES))
    from onnxruntime.quantization import QuantType, quantize_dynamic

    kept = _no_matrix(path)
    with TemporaryDirectory(dir=path.parent) as floats, _quiet():
        for file in written(path):
            file.rename(Path(floats) / file.name)
        quantize_dynamic(
            Path(floats) / path.name,
            path,
            weight_type=QuantType.QInt8,
            per_channel=True,
            reduce_range=True,
            op_types_to_quantize=["MatMul", "Gemm"],
            nodes_to_exclude=kept,
        )


def _no_matrix(path: Path) -> list[str]:
    """Name the products with several constant matrices, such as one for each head, or with a vector, as of scores.

    onnxruntime writes both in int8, and refuses the file, or computes none of its answers.
    """
    import onnx

    graph = onnx.load(path, load_external_data=False).graph
    others = {one.name for one in graph.initializer if len(one.dims) != 2}
    return [node.name for node in graph.node if node.op_type == "MatMul" and node.input[1] in others]


@contextlib.contextmanager
def _loops() -> Iterator[None]:
    """Let `torch.export` write LSTM and GRU as loops over any number of steps; without, it writes out one number.

    PyTorch has the loops in a private place, not in every version; where they are missing, `_reason` names the layer.
    """
    loops = [getattr(_patches, f"register_{kind}_while_loop_decomposition", None) for kind in ("lstm", "gru")]
    layers = (torch.ops.aten.lstm.input, torch.ops.aten.gru.input)
    with contextlib.ExitStack() as stack:
        for loop in filter(None, loops):
            stack.enter_context(loop())
        for layer in layers:
            layer._dispatch_cache.clear()  # remembers how an earlier trace wrote it
            stack.callback(layer._dispatch_cache.clear)
        yield


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Leave out what torch and onnxscript report on the way."""
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        said = io.StringIO()
        with warnings.catch_warnings(), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


def _reason(error: BaseException, program: Program) -> str:
    """Give the first line that says something, of the error that began it."""
    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, GuardOnDataDependentSymNode):
        return "a size or a choice depends on the values of an input"
    if fixed := re.search(r"Constraints violated \(L\['inputs'\]\[(\d+)\]\.size\(\)\[(\d+)\]", str(error)):
        given = f"one size only of {program.names[int(fixed[1])]!r}, axis {fixed[2]}"
        for name, part in program.module.named_modules():
            if isinstance(part, nn.RNNBase):
                where = f"{name!r}, PyTorch's {type(part).__name__}," if name else f"PyTorch's {type(part).__name__}"
                return f"{where} is written out step by step by torch.export, for {given}"
        return f"a part of it serves {given}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else 'no reason is given'}"


def _where(error: BaseException) -> str:
    """Name the function of the model in which a trace ended, as `module:function`, and a pattern that it was in."""
    found, pattern, trace = "the model", "", error.__traceback__
    while trace is not None:
        owner = trace.tb_frame.f_locals.get("self")
        if isinstance(owner, Pattern):
            pattern = f"the pattern {type(owner).__name__}"
        code = trace.tb_frame.f_code
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        if module.startswith("zoo.") and not module.startswith("zoo.deploy"):
            found = f"{module}:{code.co_qualname}"
        trace = trace.tb_next
    return f"{pattern} ({found})" if pattern else found
