"""A copy of a model that only answers: the same answers and weights, and the original left as it was."""

from typing import Any

import pytest
import torch
from torch import nn

from zoo.core import Encoder, Tokens
from zoo.core.ops.linear import Linear
from zoo.core.transforms.inference_copy import LaidOut, serving


def encoder(dtype: torch.dtype = torch.float32) -> Any:
    torch.manual_seed(0)
    return Encoder(8, 2, 2, 12, dropout=0.5).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("bias", [True, False])
def test_a_matrix_laid_out_multiplies_as_before(dtype: torch.dtype, bias: bool) -> None:
    layer, x = Linear(7, 5, bias=bias, dtype=dtype), torch.randn(2, 3, 7, dtype=dtype)
    with torch.no_grad():
        torch.testing.assert_close(LaidOut(layer)(x), layer(x))


@pytest.mark.parametrize("fast", [True, False])
def test_bfloat16_is_computed_in_float32_where_it_is_emulated(fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.core.transforms.inference_copy.fast_bfloat16", lambda: fast)
    model = nn.Sequential(Linear(3, 3), nn.BatchNorm1d(3)).bfloat16()
    mine = serving(model)
    kept = [x for x in (*mine.parameters(), *mine.buffers()) if x.is_floating_point()]
    assert {x.dtype for x in kept} == {torch.bfloat16 if fast else torch.float32}
    assert {x.dtype for x in model.parameters()} == {torch.bfloat16}
    x = torch.randn(2, 3, dtype=kept[0].dtype)
    with torch.no_grad():
        torch.testing.assert_close(mine(x), model.eval().to(x.dtype)(x))


def test_a_copy_answers_as_the_model_in_evaluation_which_stays_in_training() -> None:
    model, x = encoder().train(), Tokens(torch.randn(1, 5, 8))
    mine = serving(model)
    with torch.no_grad():
        y = mine(x).x
        assert (model(x).x - y).abs().max() > 0.01
        assert all(part.training for part in model.modules())
        torch.testing.assert_close(y, model.eval()(x).x)
    assert not any(part.training for part in mine.modules())
    assert any(isinstance(part, LaidOut) for part in mine.modules())
    assert not any(isinstance(part, LaidOut) for part in model.modules())


def test_a_copy_shares_the_weights_by_name() -> None:
    model = encoder()
    mine = dict(serving(model).named_parameters())
    assert all(mine[name] is parameter for name, parameter in model.named_parameters())
    assert len(mine) == len(list(model.parameters()))


def test_a_layer_of_another_class_is_left_as_it_is() -> None:
    class Own(Linear):
        """Someone's own."""

    assert [type(part) for part in serving(nn.Sequential(Own(2, 2), nn.Linear(2, 2), Linear(2, 2)))] == [
        Own,
        nn.Linear,
        LaidOut,
    ]
