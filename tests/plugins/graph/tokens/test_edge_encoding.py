"""Features of edges inside attention."""

import pytest
import torch
from torch import Tensor, nn

from zoo.core import Attention, ConfigError, InputError, NormedAttention, Tokens
from zoo.core.patterns.edges import Edges
from zoo.plugins.graph.structure.graph_pattern import Graph
from zoo.plugins.graph.tokens.edge_encoding import Relation, graph_of, with_relation

pytestmark = pytest.mark.usefixtures("float64")

INDEX = torch.tensor([[0, 1, 2, 3, 2], [1, 1, 1, 2, 0]])


def tokens(features: Tensor | None, x: Tensor | None = None) -> Tokens:
    return Tokens(torch.randn(1, 4, 8) if x is None else x, Graph.of(Edges(INDEX), features, None))


def by_loop(layer: Attention, x: Tensor, edges: Tensor, role: str) -> Tensor:
    """Let each node read its edges, one by one: arXiv:2009.03509 eq. 3 and 4."""
    q, k, v = layer.qkv(x[0]).view(4, 3, 2, 4).unbind(1)
    y = torch.zeros(4, 2, 4)
    for node in range(4):
        own = (INDEX[1] == node).nonzero()[:, 0]
        keys, values, added = k[INDEX[0, own]], v[INDEX[0, own]], torch.zeros(len(own), 2)
        if role == "vectors":
            keys, values = keys + edges[own].view(-1, 2, 4), values + edges[own].view(-1, 2, 4)
        else:
            added = edges[own]
        weights = ((q[node] * keys).sum(-1) / 2 + added).softmax(0)
        y[node] = (weights[..., None] * values).sum(0)
    return layer.out(y.flatten(1))


@pytest.mark.parametrize("role", ["vectors", "bias"])
def test_edges_are_read_as_the_paper_says(role: str) -> None:
    layer = with_relation(Attention, 3, role)(8, 2)
    assert isinstance(layer, Attention)
    assert isinstance(layer.position, Relation)
    features, x = torch.randn(5, 3), torch.randn(1, 4, 8)
    found = layer(tokens(features, x))[0]
    torch.testing.assert_close(found, by_loop(layer, x, layer.position.features(features), role))


@pytest.mark.parametrize("role", ["vectors", "bias"])
def test_edges_behind_those_with_features_add_nothing(role: str) -> None:
    layer = with_relation(Attention, 3, role)(8, 2)
    features, x = torch.randn(5, 3), torch.randn(1, 4, 8)
    features[3:] = 0
    torch.testing.assert_close(layer(tokens(features[:3], x)), layer(tokens(features, x)))


def test_gradients_reach_the_features_of_edges() -> None:
    layer, features = with_relation(Attention, 3)(8, 2), torch.randn(5, 3, requires_grad=True)
    layer(tokens(features)).square().sum().backward()
    assert features.grad is not None
    assert (features.grad.abs().sum(1) > 0).all()


def test_other_attentions_read_edges_too() -> None:
    layer = with_relation(NormedAttention, [4, 2])(8, 2)
    x, (kinds, others) = torch.randn(1, 4, 8), torch.zeros(2, 5, 2, dtype=torch.long).unbind()
    others[0, 0] = 3
    assert not torch.equal(layer(tokens(kinds, x)), layer(tokens(others, x)))


def test_without_features_of_edges_nothing_changes() -> None:
    assert with_relation(Attention, 0) is Attention


def test_the_graph_is_found_behind_what_limits_it() -> None:
    graph = tokens(None).pattern
    assert graph_of(Edges(INDEX[:, :1]) & graph) is graph
    assert graph_of(Edges(INDEX)) is None
    assert graph_of(None) is None


def test_what_has_no_place_for_edges_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"edge_features=3 act inside attention, where Linear has no place"):
        with_relation(nn.Linear, 3)(8, 2)
    with pytest.raises(ConfigError, match="edge_features=3 for an attention that has Relation"):
        with_relation(with_relation(Attention, 3), 3)(8, 2)
    with pytest.raises(ConfigError, match="edges_as='keys' is not one of vectors, bias"):
        with_relation(Attention, 3, "keys")(8, 2)
    with pytest.raises(ConfigError, match="keys of 4 channels and values of 3"):
        with_relation(lambda dim, heads: Attention(dim, heads, value_dim=3), 3)(8, 2)
    for nothing in (tokens(None), Tokens(torch.randn(1, 4, 8))):
        with pytest.raises(InputError, match="made for the features of edges reads nodes whose edges have none"):
            with_relation(Attention, 3)(8, 2)(nothing)
