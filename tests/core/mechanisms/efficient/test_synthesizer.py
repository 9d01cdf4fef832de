"""Synthesizers weigh by place: random ones the same for every input, dense ones by the query alone."""

from typing import Any

import pytest
import torch

from zoo.core import ConfigError, InputError, Tokens
from zoo.core.mechanisms.efficient.synthesizer import synthesizer

X = torch.randn(2, 6, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def make(kind: str) -> Any:
    torch.manual_seed(0)
    return synthesizer(kind, "16")(8, 2).double()


@pytest.mark.parametrize("kind", ["random", "factorised"])
@torch.no_grad()
def test_a_random_one_gives_every_input_the_same_weights_of_its_matrix(kind: str) -> None:
    layer = make(kind)
    weights = layer.weights(Tokens(X))
    torch.testing.assert_close(weights[0], weights[1])
    matrix = layer.table if kind == "random" else layer.rows @ layer.columns.mT
    torch.testing.assert_close(weights[0], matrix[:, :6, :6].softmax(-1))
    assert kind == "random" or torch.linalg.matrix_rank(matrix[0]) == 8


@torch.no_grad()
def test_a_dense_one_is_its_formula_and_its_rows_depend_on_their_place_alone() -> None:
    layer, moved = make("dense"), X.clone()
    for parameter in layer.parameters():
        parameter.add_(torch.randn_like(parameter))
    weights = layer.weights(Tokens(X))
    hidden = (X[0, 3] @ layer.hidden.weight.mT + layer.hidden.bias).relu().unflatten(0, (2, 4))
    for head in range(2):
        scores = hidden[head] @ layer.w[head] + layer.b[head]
        torch.testing.assert_close(weights[0, head, 3], scores[:6].softmax(-1))
    moved[:, 4] += 1
    after = layer.weights(Tokens(moved))
    assert torch.equal(after[:, :, :4], weights[:, :, :4])
    assert not torch.allclose(after[:, :, 4], weights[:, :, 4])


@pytest.mark.parametrize("kind", ["dense", "random", "factorised"])
@torch.no_grad()
def test_scores_of_zero_are_the_mean(kind: str) -> None:
    layer = make(kind)
    for name, parameter in layer.named_parameters():
        if name in ("w", "b", "table", "rows"):
            parameter.zero_()
    wanted = layer.out(layer.value(X).mean(1, keepdim=True).expand(-1, 6, -1))
    torch.testing.assert_close(layer(Tokens(X)), wanted)


@pytest.mark.parametrize("kind", ["dense", "random", "factorised"])
def test_longer_rows_and_other_kinds_are_refused(kind: str) -> None:
    layer = synthesizer(kind, "5")(8, 2)
    with pytest.raises(InputError, match=r"a row of 6 for .*Synthesizer of length=5"):
        layer(Tokens(X.float()))
    with pytest.raises(ConfigError, match="synthesizer:sparse is not one of dense, random, factorised"):
        synthesizer("sparse")
