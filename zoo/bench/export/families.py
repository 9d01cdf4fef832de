"""A model of each family: its main program in onnxruntime over the same function in eager PyTorch."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from zoo.bench.speed.case import Built, Case
from zoo.core.errors import ZooError
from zoo.deploy.check import runner
from zoo.deploy.programs import programs
from zoo.deploy.write import quantize, traced, write_onnx
from zoo.factory import create

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


def compared(name: str, int8: bool) -> Built:
    """Compute the last program of a model (a decoding step, where it writes) by onnxruntime and by PyTorch.

    Args:
        name: of the model; its weights are drawn, which takes no other time.
        int8: whether the weights of the exported program are in 8 bits.
    """
    model: Any = create.create(name).eval()
    try:
        program = programs(model)[-1]
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            write_onnx(traced(program), program, path)
            if int8:
                quantize(path)
            run = runner(path, program.names, threads=torch.get_num_threads())
    except ZooError as error:
        return str(error)
    inputs = program.cases[0]

    def eager() -> object:
        with torch.no_grad():
            return program.module(*inputs)

    return partial(run, inputs), eager


CASES = tuple(
    Case(f"{name}, onnxruntime {kind}", "eager PyTorch", target, partial(compared, name, kind == "int8"))
    for name, *targets in FAMILIES
    for kind, target in zip(("float32", "int8"), targets, strict=True)
)
