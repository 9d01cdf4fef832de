"""Weights of the edges of a graph, layer by layer."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import zoo
from zoo.core import Attention, Edges, Tokens
from zoo.core.models.inspection import attention_maps
from zoo.core.positions.relative import ALiBiPosition
from zoo.errors import ConfigError
from zoo.viz.attention_maps import chosen
from zoo.viz.edge_maps import EdgeMap, edge_maps_of

pytestmark = pytest.mark.usefixtures("float64")

SIZES: dict[str, Any] = {"dim": 8, "depth": 2, "num_heads": 2}
INDEX = torch.tensor([[0, 1, 2, 0, 2], [1, 0, 1, 2, 2]])


def spread(made: EdgeMap) -> Tensor:
    """Give the weights of pairs."""
    square = made.weights.new_zeros(len(made.weights), made.nodes, made.nodes)
    square[:, made.index[1], made.index[0]] = made.weights
    return square


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("graph-tiny", {"mlp_dim": 8}),
        ("gat-cora", {"num_classes": 3}),
        ("graph-tiny", {"mlp_dim": 8, "virtual_nodes": 1}),
    ],
)
def test_weights_of_edges_are_those_of_their_pairs(name: str, options: dict[str, Any]) -> None:
    model = zoo.create(name, node_features=4, edge_features=0, **SIZES, **options).eval()
    x = torch.randn(3, 4)
    found = edge_maps_of(model, (x, INDEX))
    assert [(each.layer, each.part) for each in found] == [(1, "encoder"), (2, "encoder")]
    for each, whole in zip(found, model.attention_maps(x, INDEX), strict=True):
        assert each.heads == tuple(range(1, whole.shape[1] + 1))
        torch.testing.assert_close(spread(each), whole[0].float())


def test_features_of_edges_count() -> None:
    model = zoo.create("graph-tiny", node_features=4, edge_features=2, edges_as="bias", mlp_dim=8, **SIZES).eval()
    given = torch.randn(3, 4), INDEX, torch.randn(5, 2)
    for each, whole in zip(edge_maps_of(model, given), model.attention_maps(*given), strict=True):
        torch.testing.assert_close(spread(each), whole[0].float())


def test_attention_to_the_whole_graph_is_left_out() -> None:
    model = zoo.create("gps-small", node_features=4, edge_features=0, mlp_dim=8, **SIZES).eval()
    for each in edge_maps_of(model, (torch.randn(3, 4), INDEX)):
        assert sorted(zip(*each.index.tolist(), strict=True)) == sorted(zip(*INDEX.tolist(), strict=True))


def test_a_model_of_no_graphs_has_none_and_ends_at_its_first_attention() -> None:
    model = zoo.create("vit-micro", dim=16, depth=2, num_heads=2, mlp_dim=16).eval()
    done: list[int] = []
    for block in model.encoder.blocks:
        block.register_forward_hook(lambda *_: done.append(1))
    assert edge_maps_of(model, zoo.example("vit-micro", 1)) == []
    assert done == []
    assert not any(layer._forward_pre_hooks for layer in model.modules())


def test_a_bias_of_pairs_has_weights_of_pairs_alone() -> None:
    class OnAGraph(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = Attention(8, 2, position=ALiBiPosition(2))

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(Tokens(x, Edges(INDEX)))

    model, x = OnAGraph().eval(), torch.randn(1, 3, 8)
    assert edge_maps_of(model, [x]) == []
    (weights,) = attention_maps(model, x)
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 2, 3))


def test_layers_and_heads_are_chosen() -> None:
    model = zoo.create("graph-tiny", node_features=4, edge_features=0, mlp_dim=8, **SIZES).eval()
    found = edge_maps_of(model, (torch.randn(3, 4), INDEX))
    (only,) = chosen(found, None, [2], [2])
    assert (only.layer, only.heads) == (2, (2,))
    torch.testing.assert_close(only.weights, found[1].weights[1:])
    with pytest.raises(ConfigError, match=r"layers=3: there are layers 1 … 2"):
        chosen(found, None, [3], [])
