"""Our layers and networks in PyTorch Geometric, with the same weights, and back; for `zoo bench speed --peer`, too."""

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GATv2Conv, TransformerConv

from zoo.core import ConfigError
from zoo.plugins.graph.layers.edge_attention import EdgeAttention
from zoo.plugins.graph.models.gat import AttentionTag, GraphLayer
from zoo.plugins.graph.pyg.convert import channels_of, layers_of, score_name, score_of, state_from_pyg, state_to_pyg
from zoo.plugins.graph.pyg.edge_attention_conv import EdgeAttentionConv
from zoo.plugins.graph.structure.edge_rules import EdgeRules
from zoo.plugins.graph.structure.graph_inputs import read

FLOWS = {"source_to_target": "forward", "target_to_source": "backward"}


def from_pyg(conv: Any) -> EdgeAttentionConv:
    """Make our layer of a `GATConv`, `GATv2Conv` or `TransformerConv`, with its weights.

    Raises:
        ConfigError: If it is another layer, or has an option that ours has not.
    """
    state = conv.state_dict()
    score = score_of(state)
    if not isinstance(conv, GATConv | GATv2Conv | TransformerConv) or score is None:
        raise ConfigError(f"{conv} is no GATConv, GATv2Conv or TransformerConv")
    if conv.aggr not in ("add", "sum"):
        raise ConfigError(f"aggr={conv.aggr!r} of {conv}: what is read is summed")
    if getattr(conv, "share_weights", False):
        raise ConfigError(f"share_weights=True of {conv}: ours has a projection of sources and one of targets")
    fill: Any = "mean"
    if score == "scaled_dot":
        loops = "keep"
        root = ("gate" if conv.beta else "add") if conv.root_weight else "none"
        state = {key: value for key, value in state.items() if conv.root_weight or not key.startswith("lin_skip")}
    else:
        loops, fill = "replace" if conv.add_self_loops else "keep", conv.fill_value
        root = "none" if conv.res is None else "add"
    rules = EdgeRules(loops, FLOWS[conv.flow], fill=_fill(fill))  # type: ignore[arg-type]
    channels = conv.in_channels if score == "gat" or isinstance(conv.in_channels, int) else tuple(conv.in_channels)
    ours = EdgeAttentionConv(
        channels,
        conv.out_channels,
        conv.heads,
        score=score,
        concat=conv.concat,
        dropout=conv.dropout,
        edge_dim=conv.edge_dim,
        bias="bias" in state or "lin_query.bias" in state,
        root=root,
        rules=rules,
    )
    if score != "scaled_dot":
        ours.layer.score.slope = conv.negative_slope
    like = next(iter(state.values()))
    ours.to(like.device, like.dtype).train(conv.training)
    ours.layer.load_state_dict(state_from_pyg(state))
    return ours


def _fill(value: Any) -> Any:
    """Give the `EdgeRules.fill` of PyG's `fill_value`."""
    if not isinstance(value, Tensor):
        return {"add": "sum", None: 1.0}.get(value, value)
    if value.requires_grad or (value.ndim > 1 and len(value) > 1):
        raise ConfigError(f"fill_value={value}: all loops are filled alike, with fixed numbers, one for each feature")
    return tuple(value.flatten().tolist())


def to_pyg(ours: EdgeAttentionConv) -> Any:
    """Make PyTorch Geometric's layer of ours, with its weights.

    Raises:
        ConfigError: If it has no layer with such rules for edges or such a root.
    """
    return layer_to_pyg(ours.layer, ours.rules)


def layer_to_pyg(layer: EdgeAttention, rules: EdgeRules) -> Any:
    """Make PyTorch Geometric's layer with the weights of one of ours, that reads edges by these rules; see `to_pyg`."""
    score, root = score_name(layer), "gate" if layer.gate is not None else "none" if layer.skip is None else "add"
    wanted = ("keep",) if score == "scaled_dot" else ("keep", "replace")
    if rules.self_loops not in wanted or rules.duplicates != "each" or rules.direction == "both":
        raise ConfigError(f"{rules}: PyTorch Geometric's layer of score {score!r} has self_loops={' or '.join(wanted)}")
    if score != "scaled_dot" and root == "gate":
        raise ConfigError(f"root='gate' of a layer of score {score!r}: PyTorch Geometric's has none")
    flow = next(flow for flow, direction in FLOWS.items() if direction == rules.direction)
    state = state_to_pyg(layer.state_dict(), score)
    bias = "bias" in state or "lin_query.bias" in state
    options: dict[str, Any] = {"heads": layer.heads, "concat": layer.concat, "dropout": layer.dropout,
                               "edge_dim": layer.edge_dim, "bias": bias, "flow": flow}  # fmt: skip
    conv: Any
    if score == "scaled_dot":
        options |= {"beta": root == "gate", "root_weight": root != "none"}
        conv = TransformerConv(channels_of(layer), layer.dim, **options)
        state = {key: torch.zeros_like(x) for key, x in conv.state_dict().items() if "lin_skip" in key} | state
    else:
        fill = torch.tensor(rules.fill, dtype=torch.float64) if isinstance(rules.fill, tuple) else rules.fill
        options |= {"residual": root == "add", "negative_slope": layer.score.slope, "fill_value": fill,
                    "add_self_loops": rules.self_loops == "replace"}  # fmt: skip
        conv = (GATConv if score == "gat" else GATv2Conv)(channels_of(layer), layer.dim, **options)
    like = next(layer.parameters())
    conv.to(like.device, like.dtype)
    conv.load_state_dict(state)
    return conv.train(layer.training)


class Peer(nn.Module):
    """A network of PyTorch Geometric's layers with the weights of ours.

    Args:
        ours: a model that `gat` made.

    Raises:
        ConfigError: If PyTorch Geometric has no such layers.
    """

    def __init__(self, ours: Any) -> None:
        super().__init__()
        rules: EdgeRules = ours.stem.rules
        self.convs = nn.ModuleList(layer_to_pyg(layer, rules) for _, layer in layers_of(ours))
        blocks = [part for part in ours.modules() if isinstance(part, GraphLayer)]
        self.skips = [block.skip for block in blocks]
        self.before = nn.ModuleList(copy.deepcopy(block.dropout) for block in blocks)
        self.behind = nn.ModuleList(nn.Sequential(copy.deepcopy(block.norm), copy.deepcopy(block.activation))
                                    for block in blocks)  # fmt: skip
        self.head = None if isinstance(ours.head, AttentionTag) else copy.deepcopy(ours.head)
        self.stem = copy.deepcopy(ours.stem)
        self.train(ours.training)

    def forward(self, *inputs: Any) -> Tensor:
        """Give the answer of the model's task."""
        given = read(inputs)
        x = given.x
        edges = (given.edge_index, given.edge_attr) if self.stem.edge_features else (given.edge_index,)
        for conv, before, behind, skip in zip(self.convs, self.before, self.behind, self.skips, strict=True):
            y = conv(before(x), *edges)
            x = behind(x + y if skip else y)
        return x if self.head is None else self.head(self.stem(*inputs).with_x(x[None]))


def peer(model: Any) -> nn.Module:
    """Give a network of PyTorch Geometric's layers with the weights of a model; see `zoo.spec.ModelSpec.peer`."""
    return Peer(model)
