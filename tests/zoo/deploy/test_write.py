import pytest
import torch
from torch import Tensor, nn

from zoo import ExportError
from zoo.core.layers.pooling import check_pool
from zoo.deploy.programs import Program
from zoo.deploy.write import traced


class LooksAtValues(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x if float(x.sum()) > 0 else -x


class Refuses(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        check_pool("median")
        return x


def program(module: nn.Module) -> Program:
    return Program("model", module, ("x",), ("y",), [(torch.ones(n, 3),) for n in (2, 1, 4)])


def test_lengths_are_symbols() -> None:
    exported = traced(program(nn.ReLU()))
    assert exported.module()(torch.ones(7, 3)).shape == (7, 3)


def test_what_cannot_be_traced_is_named_with_the_reason() -> None:
    with pytest.raises(ExportError, match=r"model: the model cannot be traced: .*data-dependent"):
        traced(program(LooksAtValues()))
    with pytest.raises(ExportError, match="model: pool='median' is not one of"):
        traced(program(Refuses()))
