"""A model of each family: its main program in onnxruntime over the same function in eager PyTorch, drawn weights."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor

from zoo.bench.speed.case import Built, Case
from zoo.bench.speed.quality import compare_scores
from zoo.core.errors import ZooError
from zoo.deploy.bundle import described
from zoo.deploy.check import Runs, runner
from zoo.deploy.programs import Program, programs
from zoo.deploy.run import SoundStream
from zoo.deploy.write import quantize, traced, write_onnx
from zoo.factory import create

KEPT = 128
"""Tokens in the cache of a decoding step."""
FAMILIES = (
    ("vit-small", 1.1, 0.7),
    ("resnet-18", 1.1, 1.1),
    ("bert-base", 1.1, 0.7),
    ("gpt2-small", 1.1, 0.7),
    ("transformer-base", 1.1, 0.7),
    ("conformer-small", 1.1, 0.9),
    ("speech-small", 1.1, 0.9),
    ("graph-small", 1.1, 1.1),
)
"""Name, and the ratios to reach in float32 and in int8."""
STREAM: Mapping[str, Any] = {
    "window": [640, 0],
    "convolution": "causal",
    "normalise": "running",
    "task": "generate",
    "kernel_size": 31,
}


def compared(name: str, int8: bool, kept: int = KEPT) -> Built:
    """Compute the last program of a model by onnxruntime and by PyTorch.

    Args:
        name: of the model.
        int8: whether the weights of the exported program are in 8 bits.
        kept: tokens in the cache of a model that writes, which then reads one; with none it reads `KEPT` (prefill).
    """
    model: Any = create.create(name).eval()
    program = programs(model)[-1]
    try:
        run = converted(program, int8)
    except ZooError as error:
        return str(error)
    inputs = one_row(program, kept, 1 if kept else KEPT) if program.name == "decode" else program.cases[0]

    def eager() -> object:
        with torch.no_grad():
            return program.module(*inputs)

    return partial(run, inputs), eager


def streamed(int8: bool) -> Built:
    """Answer 160 ms of a sound in steady state: `run.py` with onnxruntime, and `model.stream()`, features with both.

    Args:
        int8: whether the weights of the exported program are in 8 bits.
    """
    model: Any = create.create("conformer-small", **STREAM).eval()
    prepare: Any = create.preprocess(model)
    step = programs(model)[-1]
    try:
        ours = SoundStream(_Converted(step, prepare.portable(), int8))  # type: ignore[arg-type]
    except ZooError as error:
        return str(error)
    theirs, chunk = model.stream(), torch.randn(2560)
    for _ in range(8):  # until all windows are full
        ours.push(chunk.numpy())
        theirs.push(chunk)
    return partial(ours.push, chunk.numpy()), partial(theirs.push, chunk)


class _Converted:
    """What `SoundStream` needs of an exported folder."""

    def __init__(self, step: Program, read: Mapping[str, Any], int8: bool) -> None:
        self.step = step
        self.about = {"input": read, "programs": {"step": described(step, Path("step.onnx"))}}
        self.computed = converted(step, int8)

    def run(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Run the step."""
        example = zip(self.step.names, self.step.cases[0], strict=True)
        inputs = [torch.as_tensor(given[one]).to(x.dtype) for one, x in example]
        return dict(zip(self.step.outputs, self.computed(inputs), strict=True))


def converted(program: Program, int8: bool) -> Runs:
    """Give what computes a program by onnxruntime, on as many threads as PyTorch."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        write_onnx(traced(program), program, path)
        if int8:
            quantize(path)
        return runner(path, program.names, threads=torch.get_num_threads())


def one_row(program: Program, kept: int, new: int) -> tuple[Tensor, ...]:
    """Give inputs of one row: so many new tokens behind those that the cache keeps."""
    named = {name: x[:1] for name, x in zip(program.names, program.cases[0], strict=True)}
    for name, x in named.items():
        if name.startswith(("key_", "value_")):
            named[name] = torch.randn(1, kept, *x.shape[2:])
    named["ids"] = named["ids"][:, :1].repeat(1, new)
    named["mask"] = torch.ones(1, kept + new, dtype=torch.bool)
    return tuple(named.values())


CASES = (
    *(
        Case(
            f"{name}, onnxruntime {kind}",
            "eager PyTorch",
            target,
            partial(compared, name, kind == "int8"),
            quality=compare_scores if kind == "int8" else None,
        )
        for name, *targets in FAMILIES
        for kind, target in zip(("float32", "int8"), targets, strict=True)
    ),
    *(
        Case(
            f"gpt2-small, prefill of {KEPT}, onnxruntime {kind}",
            "eager PyTorch",
            target,
            partial(compared, "gpt2-small", kind == "int8", 0),
            quality=compare_scores if kind == "int8" else None,
        )
        for kind, target in (("float32", 1.1), ("int8", 0.7))
    ),
    Case("conformer-small, 160 ms of a stream, onnxruntime float32", "model.stream()", 0.7, partial(streamed, False)),
    Case("conformer-small, 160 ms of a stream, onnxruntime int8", "model.stream()", 0.7, partial(streamed, True)),
)
