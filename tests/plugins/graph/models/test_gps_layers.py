"""GPS blocks: along the edges and everywhere, of one graph at a time."""

import pytest
import torch
from torch import Tensor, nn

from zoo.core import Attention, ConfigError, Kernel, Segments, Tokens, attend
from zoo.core.layers.mlp import Mlp
from zoo.core.patterns.edges import Edges
from zoo.plugins.graph.models.gps_layers import GpsBlock, NodeNorm, gps_encoder
from zoo.plugins.graph.structure.graph_pattern import Graph

pytestmark = pytest.mark.usefixtures("float64")

INDEX = torch.tensor([[0, 1, 2, 4, 3], [1, 2, 0, 3, 4]])
IDS = torch.tensor([[0, 0, 0, 1, 1]])


def tokens(x: Tensor) -> Tokens:
    sets = Segments(IDS, count=2)
    return Tokens(x, Graph.of(Edges(INDEX), None, sets), sets)


def alone(x: Tensor, first: int, last: int) -> Tokens:
    inside = INDEX[:, (INDEX[0] >= first) & (INDEX[0] < last)] - first
    return Tokens(x[:, first:last], Graph.of(Edges(inside), None, None))


def test_a_block_is_the_sum_of_both_and_then_an_mlp() -> None:
    block = GpsBlock(8, Attention(8, 2), Attention(8, 2), Mlp(8, 16))
    given = tokens(torch.randn(1, 5, 8))
    x = given.x
    y = block.norm1(x + block.local(given)) + block.norm2(x + block.wide(Tokens(x, None, given.keys)))
    torch.testing.assert_close(block(given).x, block.norm3(y + block.mlp(y)))


@pytest.mark.parametrize("wide", ["full", "linear"])
@pytest.mark.parametrize("training", [True, False])
def test_a_graph_is_answered_as_if_it_were_alone(wide: str, training: bool) -> None:
    encoder = gps_encoder(8, 2, 2, 16, wide=wide).train(training)
    x = torch.randn(1, 5, 8)
    together = encoder(tokens(x)).x
    for first, last in ((0, 3), (3, 5)):
        torch.testing.assert_close(together[:, first:last], encoder(alone(x, first, last)).x)


@pytest.mark.parametrize("wide", ["full", "linear"])
def test_every_node_reads_every_node_of_its_graph(wide: str) -> None:
    layer = gps_encoder(8, 1, 2, 16, wide=wide).blocks[0].wide
    x = torch.randn(1, 5, 8, requires_grad=True)
    layer(Tokens(x, None, Segments(IDS)))[0, 0].sum().backward()
    assert x.grad is not None
    assert (x.grad[0].abs().sum(1) > 0).tolist() == [True, True, True, False, False]


def test_linear_attention_weighs_by_its_kernel() -> None:
    layer, x = Attention(8, 2, norm=Kernel()), torch.randn(1, 5, 8)
    q, k, v = layer.qkv(x).view(1, 5, 3, 2, 4).unbind(2)
    torch.testing.assert_close(layer(Tokens(x)), layer.out(attend(q, k, v, norm=Kernel()).flatten(2)))
    weights = layer.weights(Tokens(x))
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 2, 5))
    torch.testing.assert_close(layer.out((weights @ v.transpose(1, 2)).transpose(1, 2).flatten(2)), layer(Tokens(x)))


def test_batch_norm_is_over_nodes() -> None:
    x = torch.randn(1, 5, 8)
    y = NodeNorm(8)(x)
    torch.testing.assert_close(y, nn.BatchNorm1d(8)(x[0])[None])
    assert isinstance(gps_encoder(8, 1, 2, 16, norm="batch").blocks[0].norm1, NodeNorm)


def test_what_is_unknown_is_refused() -> None:
    with pytest.raises(ConfigError, match="wide='window' is not one of full, linear"):
        gps_encoder(8, 1, 2, 16, wide="window")
    with pytest.raises(ConfigError, match="norm='graph' is not one of layer, batch"):
        gps_encoder(8, 1, 2, 16, norm="graph")
    with pytest.raises(ConfigError, match="depth=0"):
        gps_encoder(8, 0, 2, 16)
