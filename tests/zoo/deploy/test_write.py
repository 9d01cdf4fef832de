from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from zoo import ExportError
from zoo.core import Pattern, Window, attend
from zoo.core.layers.pooling import check_pool
from zoo.deploy.check import check
from zoo.deploy.programs import Program
from zoo.deploy.write import quantize, traced, write_onnx, write_pt2, written


class LooksAtValues(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x if float(x.sum()) > 0 else -x


class FixesSize(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.ones(len(x), 1)


class Refuses(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        check_pool("median")
        return x


class InWindow(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x = x[:, :, None]
        return attend(x, x, x, Window(3, 3))[:, :, 0]


class UpToLongest(Pattern):
    def allows(self, i: Tensor, j: Tensor) -> Tensor:
        return j <= int(i.max())


class InPattern(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x = x[:, :, None]
        return attend(x, x, x, UpToLongest() & Window(3, 3))[:, :, 0]


class EachHead(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.heads = nn.Linear(8, 8), nn.Parameter(torch.randn(2, 8, 4))

    def forward(self, x: Tensor) -> Tensor:
        return self.first(x)[:, None] @ self.heads


class ByVector(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.vector = nn.Linear(8, 8), nn.Parameter(torch.randn(8))

    def forward(self, x: Tensor) -> Tensor:
        return self.first(x).tanh() @ self.vector


def program(module: nn.Module) -> Program:
    return Program("model", module, ("x",), ("y",), [(torch.ones(n, 3),) for n in (2, 1, 4)])


def test_lengths_are_symbols() -> None:
    exported = traced(program(nn.ReLU()))
    assert exported.module()(torch.ones(7, 3)).shape == (7, 3)


def test_what_cannot_be_traced_is_named_with_the_reason() -> None:
    with pytest.raises(
        ExportError, match=r"model: the model cannot be traced: a size or a choice depends on the values"
    ):
        traced(program(LooksAtValues()))
    with pytest.raises(ExportError, match="cannot be traced: a part of it serves one size only of 'x', axis 0"):
        traced(program(FixesSize()))
    with pytest.raises(ExportError, match="model: pool='median' is not one of"):
        traced(program(Refuses()))


RECURRENT = pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU])


class Recurrent(nn.Module):
    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.rnn = kind(4, 6, num_layers=2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.rnn(x)[0]
        return found


def recurrent(kind: Any) -> Program:
    cases = [(torch.randn(rows, n, 4),) for rows, n in ((2, 5), (1, 1), (3, 9))]
    return Program("model", Recurrent(kind).eval(), ("x",), ("y",), cases)


def test_a_recurrent_layer_reads_texts_of_any_length(tmp_path: Path) -> None:
    """A GRU does so in test_api.py, by its models."""
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    layer, path = recurrent(torch.nn.LSTM), tmp_path / "model.onnx"
    exported = traced(layer)
    write_onnx(exported, layer, path)
    assert check(layer, path, 1e-5) < 1e-5
    write_pt2(exported, path.with_suffix(".pt2"))
    assert check(layer, path.with_suffix(".pt2"), 1e-5) < 1e-5


@RECURRENT
def test_a_torch_without_loops_for_recurrent_layers_names_them(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.deploy.write._patches", None)
    with pytest.raises(ExportError, match=rf"'rnn', PyTorch's {kind.__name__}, is written out step by step"):
        traced(recurrent(kind))


def test_inputs_that_are_views_have_no_sizes_but_their_own() -> None:
    layer, whole = recurrent(torch.nn.LSTM), torch.randn(3, 7, 4)
    (first, *others) = layer.cases
    views = Program("model", layer.module, ("x",), ("y",), [(whole[:2, :5],), *others])
    assert traced(views).module()(*first).shape == (2, 5, 6)


def test_a_pattern_that_cannot_be_traced_is_named_with_the_reason() -> None:
    cases = [(torch.randn(2, n, 4),) for n in (9, 3)]
    said = r"^model: the pattern UpToLongest \(.*\) cannot be traced: a size or a choice depends on the values"
    with pytest.raises(ExportError, match=said):
        traced(Program("model", InPattern(), ("x",), ("y",), cases))


def test_a_window_serves_lengths_that_it_covers() -> None:
    cases = [(torch.randn(2, n, 4, generator=torch.Generator().manual_seed(n)),) for n in (9, 3)]
    exported = traced(Program("model", InWindow(), ("x",), ("y",), cases))
    for case in cases:
        torch.testing.assert_close(exported.module()(*case), InWindow()(*case))


@pytest.mark.parametrize("kind", [EachHead, ByVector])
def test_products_with_a_matrix_for_each_head_or_a_vector_run_beside_int8_weights(
    kind: type[nn.Module], tmp_path: Path
) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    cases = [(torch.randn(2, n, 8),) for n in (9, 3)]
    product, path = Program("model", kind(), ("x",), ("y",), cases), tmp_path / "model.onnx"
    write_onnx(traced(product), product, path)
    quantize(path)
    assert check(product, path, 0.1) > 0


def test_int8_weights_leave_a_bit_free_for_processors_that_add_products_in_16_bits(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    cases = [(torch.randn(n, 8),) for n in (4, 3)]
    layer, path = Program("model", torch.nn.Linear(8, 6), ("x",), ("y",), cases), tmp_path / "model.onnx"
    write_onnx(traced(layer), layer, path)
    quantize(path)
    arrays = [onnx.numpy_helper.to_array(one) for one in onnx.load(path).graph.initializer]
    (weight,) = (array for array in arrays if array.dtype == "int8" and array.ndim == 2)
    assert 60 <= abs(weight.astype(int)).max() <= 64


def test_int8_weights_of_a_file_beyond_2_gb_leave_no_file_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    monkeypatch.setattr("torch.onnx._internal.exporter._onnx_program._LARGE_MODEL_THRESHOLD", 0)
    cases = [(torch.randn(n, 64),) for n in (4, 3)]
    layer, path = Program("model", torch.nn.Linear(64, 64), ("x",), ("y",), cases), tmp_path / "model.onnx"
    write_onnx(traced(layer), layer, path)
    assert {file.name for file in written(path)} == {"model.onnx", "model.onnx.data"}
    assert check(layer, path, 1e-5) < 1e-5
    quantize(path)
    assert written(path) == list(tmp_path.iterdir()) == [path]
    assert check(layer, path, 0.1) > 0
