from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from zoo import ExportError
from zoo.deploy import check as checked
from zoo.deploy.programs import Program

PROGRAM = Program("double", nn.Linear(3, 2), ("x",), ("y",), [(torch.ones(n, 3),) for n in (2, 1, 4)])


def test_the_difference_is_relative_to_large_numbers() -> None:
    assert checked.difference(np.array([1000.5]), np.array([1000.0])) == pytest.approx(0.0005)
    assert checked.difference(np.array([0.5]), np.array([0.25])) == 0.25
    assert checked.difference(np.zeros((2, 1)), np.zeros((1, 2))) == float("inf")
    assert np.isnan(checked.difference(np.array([np.nan]), np.array([0.0])))


@pytest.mark.parametrize("wrong", [1e-2, float("nan")])
def test_other_answers_than_those_of_pytorch_are_refused(monkeypatch: pytest.MonkeyPatch, wrong: float) -> None:
    def runner(path: Path, names: tuple[str, ...]) -> object:
        def run(inputs: tuple[Tensor, ...]) -> list[np.ndarray]:
            with torch.no_grad():
                return [PROGRAM.module(*inputs).numpy() + (wrong if len(inputs[0]) == 4 else 0)]

        return run

    monkeypatch.setattr(checked, "runner", runner)
    with pytest.raises(ExportError, match=r"double.onnx differs from PyTorch by .* at x \(4, 3\): more than 0.0001"):
        checked.check(PROGRAM, Path("double.onnx"))
    checked.check(PROGRAM, Path("double.onnx"), None)
