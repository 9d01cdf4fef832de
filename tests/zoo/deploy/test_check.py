from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from zoo import ExportError
from zoo.deploy import check as checked
from zoo.deploy.programs import Program

PROGRAM = Program("double", nn.Linear(3, 2), ("x",), ("y",), [(torch.ones(n, 3),) for n in (2, 1, 4)])


def adds(monkeypatch: pytest.MonkeyPatch, wrong: object) -> None:
    """Let a file give other answers than PyTorch, for four rows."""

    def runner(path: Path, names: tuple[str, ...]) -> object:
        def run(inputs: tuple[Tensor, ...]) -> list[np.ndarray]:
            with torch.no_grad():
                return [PROGRAM.module(*inputs).numpy() + (wrong if len(inputs[0]) == 4 else 0)]

        return run

    monkeypatch.setattr(checked, "runner", runner)


def test_the_difference_is_relative_to_large_numbers() -> None:
    assert checked.difference(np.array([1000.5]), np.array([1000.0])) == pytest.approx(0.0005)
    assert checked.difference(np.array([0.5]), np.array([0.25])) == 0.25
    assert checked.difference(np.zeros((2, 1)), np.zeros((1, 2))) == float("inf")
    assert np.isnan(checked.difference(np.array([np.nan]), np.array([0.0])))


@pytest.mark.parametrize("wrong", [1e-2, float("nan")])
def test_other_answers_than_those_of_pytorch_are_refused(monkeypatch: pytest.MonkeyPatch, wrong: float) -> None:
    adds(monkeypatch, wrong)
    with pytest.raises(ExportError, match=r"double.onnx differs from PyTorch by .* at x \(4, 3\): more than 0.0001"):
        checked.check(PROGRAM, Path("double.onnx"))
    checked.check(PROGRAM, Path("double.onnx"), None)


def test_agreement_is_the_share_of_answers_with_the_same_largest_number(monkeypatch: pytest.MonkeyPatch) -> None:
    adds(monkeypatch, 1e-3)
    assert checked.agreement(PROGRAM, Path("double.onnx")) == 1
    with torch.no_grad():
        best = int(PROGRAM.module(torch.ones(1, 3)).argmax())
    other = np.zeros((4, 2), np.float32)
    other[0, 1 - best] = 18
    adds(monkeypatch, other)
    assert checked.agreement(PROGRAM, Path("double.onnx")) == 0.8


def test_a_file_that_onnxruntime_does_not_load_is_named(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = tmp_path / "double.onnx"
    path.write_bytes(b"no program")
    with pytest.raises(ExportError, match=r"onnxruntime .* does not load double\.onnx: "):
        checked.runner(path, PROGRAM.names)
