"""Conversion of PyTorch Geometric's GPSConv weights to our blocks and back."""

from collections.abc import Callable
from typing import Any

from torch import nn
from torch_geometric.nn import GPSConv

from zoo.core import Attention, ConfigError, Mlp, relu
from zoo.plugins.graph.models.gat import OnEdges
from zoo.plugins.graph.models.gps_layers import GpsBlock, NodeNorm
from zoo.plugins.graph.pyg.peers import from_pyg, layer_to_pyg
from zoo.plugins.graph.structure.edge_rules import EdgeRules

NORMS: dict[str, Callable[[int], nn.Module]] = {"BatchNorm": NodeNorm, "NoneType": lambda dim: nn.Identity()}
"""By the class of theirs; their layer norm goes over all nodes of a graph, which ours does not."""


def gps_from_pyg(gps: GPSConv) -> tuple[GpsBlock, EdgeRules]:
    """Make our block of a `GPSConv` around one of the layers that we know; and say which edges that layer reads.

    Raises:
        ConfigError: If its norm, its attention to all nodes or its activation is another than ours.
    """
    norm = type(gps.norm1).__name__
    if gps.attn_type != "multihead" or norm not in NORMS or not isinstance(gps.mlp[1], nn.ReLU):
        shown = f"attn_type={gps.attn_type!r}, norm={norm}, act={type(gps.mlp[1]).__name__}"
        raise ConfigError(f"{shown}: blocks of multihead, ReLU and batch norm or none are converted")
    conv = from_pyg(gps.conv)
    dim = gps.channels
    parts = OnEdges(conv.layer), Attention(dim, gps.heads), Mlp(dim, 2 * dim, gps.dropout, activation=relu)
    ours = GpsBlock(dim, *parts, norm=NORMS[norm], dropout=gps.dropout)
    own = {key: value for key, value in ours.state_dict().items() if key.startswith("local.")}
    like = next(gps.parameters())
    ours.to(like.device, like.dtype).train(gps.training)
    ours.load_state_dict(own | {key: gps.state_dict()[peer] for key, peer in _names(ours).items()})
    return ours, conv.rules


def gps_to_pyg(ours: GpsBlock, rules: EdgeRules) -> GPSConv:
    """Make a `GPSConv` of our block.

    Args:
        ours: a block whose attention along the edges is `OnEdges`.
        rules: which edges that reads.

    Raises:
        ConfigError: If PyTorch Geometric has no such block.
    """
    names: dict[type, str | None] = {kind: peer for peer, kind in (("batch_norm", NodeNorm), (None, nn.Identity))}
    softmax = type(ours.wide) is Attention and ours.wide.norm == "softmax"
    if type(ours.norm1) not in names or not isinstance(ours.local, OnEdges) or not softmax:
        shown = f"{type(ours.local).__name__}, {ours.wide}, {type(ours.norm1).__name__}"
        raise ConfigError(f"a block of {shown}: GPSConv's are of OnEdges, softmax Attention and batch norm or none")
    conv: Any = layer_to_pyg(ours.local.layer, rules)
    wide: Any = ours.wide
    dim = wide.qkv.in_features
    peer = GPSConv(dim, conv, wide.num_heads, ours.dropout.p, norm=names[type(ours.norm1)])
    like = wide.qkv.weight
    peer.to(like.device, like.dtype).train(ours.training)
    state = ours.state_dict()
    peer.load_state_dict(peer.state_dict() | {name: state[key] for key, name in _names(ours).items()})
    return peer


def _names(ours: GpsBlock) -> dict[str, str]:
    """Give our names of weights, but those of the layer along the edges, and theirs."""
    parts = {"wide.qkv.": "attn.in_proj_", "wide.out.": "attn.out_proj.", "mlp.up.": "mlp.0.", "mlp.down.": "mlp.3."}
    parts |= {f"norm{n}.": f"norm{n}.module." for n in (1, 2, 3)}
    return {key: peer + key.removeprefix(own) for key in ours.state_dict() for own, peer in parts.items()
            if key.startswith(own)}  # fmt: skip
