"""GPS blocks: equal to PyTorch Geometric's with converted weights, and independent of other graphs where it is not."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from zoo.core import ConfigError, Tokens
from zoo.plugins.graph.structure.edge_rules import EdgeRules
from zoo.plugins.graph.structure.graph_inputs import GraphInputs
from zoo.plugins.graph.structure.graph_pattern import graph_structure

pyg = pytest.importorskip("torch_geometric.nn")
from zoo.plugins.graph.pyg.gps_convert import gps_from_pyg, gps_to_pyg  # noqa: E402

pytestmark = pytest.mark.usefixtures("float64", "on_device")


def inputs() -> tuple[Tensor, Tensor, Tensor]:
    """Give vectors, edges, and the graph of each node."""
    index = torch.tensor([[0, 1, 2, 2, 4, 5], [1, 0, 1, 2, 3, 4]])
    return torch.randn(7, 8), index, torch.tensor([0, 0, 0, 1, 1, 1, 1])


def theirs(conv: str = "TransformerConv", **options: Any) -> Any:
    torch.manual_seed(0)
    gps = pyg.GPSConv(8, getattr(pyg, conv)(8, 4, heads=2), heads=2, **options).eval()
    for part in gps.modules():
        if isinstance(part, nn.BatchNorm1d):
            part.running_mean = torch.randn(8)
            part.running_var = torch.rand(8) + 0.5
    return gps


def tokens(x: Tensor, index: Tensor, batch: Tensor, rules: EdgeRules) -> Tokens:
    graph = graph_structure(GraphInputs(x, index, None, batch), rules).graph
    return Tokens(x[None], graph, graph.sets)


@pytest.mark.parametrize("conv", ["TransformerConv", "GATConv", "GATv2Conv"])
@pytest.mark.parametrize("norm", ["batch_norm", None])
def test_a_block_equals_its_peer(conv: str, norm: str | None) -> None:
    gps = theirs(conv, norm=norm)
    ours, rules = gps_from_pyg(gps)
    given = inputs()
    torch.testing.assert_close(ours(tokens(*given, rules)).x[0], gps(*given))


@pytest.mark.parametrize("norm", ["batch_norm", None])
def test_back_to_the_peer_gives_the_same_weights(norm: str | None) -> None:
    gps = theirs(norm=norm)
    again = gps_to_pyg(*gps_from_pyg(gps))
    torch.testing.assert_close(dict(again.state_dict()), dict(gps.state_dict()))


def test_a_graph_does_not_depend_on_its_batch_mates_with_linear_attention() -> None:
    from zoo.core import Attention, Kernel
    from zoo.core.layers.mlp import Mlp
    from zoo.plugins.graph.models.gps_layers import GpsBlock

    torch.manual_seed(0)
    block = GpsBlock(8, Attention(8, 2), Attention(8, 2, norm=Kernel()), Mlp(8, 16)).eval()
    x, index, batch = inputs()
    rules, first = EdgeRules(), (x[:3], index[:, :4].clone(), torch.zeros(3, dtype=torch.long))
    together = block(tokens(x, index, batch, rules)).x[0, :3]
    torch.testing.assert_close(together, block(tokens(*first, rules)).x[0])
    gps = theirs(attn_type="performer", norm=None)
    their_difference = gps(x, index, batch)[:3] - gps(*first)
    assert their_difference.abs().max() > 1e-4


@pytest.mark.parametrize("options", [{"attn_type": "performer"}, {"norm": "layer_norm"}, {"act": "elu"}])
def test_blocks_that_ours_are_not_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="blocks of multihead, ReLU and batch norm or none are converted"):
        gps_from_pyg(theirs(**options))
