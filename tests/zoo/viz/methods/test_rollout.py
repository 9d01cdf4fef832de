"""Rollout against a plain loop."""

import pytest
import torch
from torch import Tensor

from zoo.errors import ConfigError
from zoo.viz.methods.rollout import Heads, rollout

pytestmark = pytest.mark.usefixtures("float64")


def looped(layers: list[Tensor], heads: Heads) -> list[list[float]]:
    """Write arXiv:2005.00928 sec. 3 in loops over numbers."""
    n = layers[0].shape[-1]
    found = [[float(i == j) for j in range(n)] for i in range(n)]
    for weights in layers:
        mixed = []
        for i in range(n):
            row = []
            for j in range(n):
                numbers = [float(head[i, j]) for head in weights]
                joined = sum(numbers) / len(numbers) if heads == "mean" else max(numbers)
                row.append(0.5 * joined + 0.5 * (i == j))
            mixed.append([each / sum(row) for each in row])
        found = [[sum(mixed[i][m] * found[m][j] for m in range(n)) for j in range(n)] for i in range(n)]
    return found


@pytest.mark.parametrize("heads", ["mean", "max"])
def test_it_is_the_product_of_a_plain_loop(heads: Heads) -> None:
    layers = [torch.randn(3, 5, 5).softmax(-1) for _ in range(4)]
    layers[1][:, 2] = 0  # a query with nothing to read: without keepdim, rows are divided by the sums of columns
    found = rollout(layers, heads)
    torch.testing.assert_close(found, torch.tensor(looped(layers, heads)), rtol=1e-12, atol=0)
    torch.testing.assert_close(found.sum(-1), torch.ones(5))


def test_one_layer_of_the_identity_is_the_identity() -> None:
    torch.testing.assert_close(rollout([torch.eye(4)[None]]), torch.eye(4))


def test_no_layers_are_refused() -> None:
    with pytest.raises(ConfigError, match="a rollout of no layers"):
        rollout([])
