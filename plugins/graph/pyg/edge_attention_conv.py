"""`EdgeAttentionConv`: the engine's attention on edges, in place of PyTorch Geometric's GATConv and the like."""

from typing import Any

import torch
from torch import Tensor
from torch_geometric import EdgeIndex
from torch_geometric.nn.conv import MessagePassing
from torch_geometric.typing import OptTensor

from zoo.core import InputError
from zoo.plugins.graph.layers.attention_scores import SCORES, Channels, EdgeScoreInputs
from zoo.plugins.graph.layers.edge_attention import EdgeAttention
from zoo.plugins.graph.structure.edge_rules import EdgeRules, ReadEdges
from zoo.plugins.graph.structure.graph_inputs import GraphInputs, check_shapes

Nodes = Tensor | tuple[Tensor, Tensor | None]
HOOKS = ("propagate", "message", "aggregate")
"""What PyTorch Geometric lets others hook into, of what happens here."""


class EdgeAttentionConv(MessagePassing):  # type: ignore[misc]
    """A drop-in for `GATConv`, `GATv2Conv` and `TransformerConv`, several times faster and without vectors by edge.

    Edges are sorted and checked once for each `edge_index` tensor, however many layers read it. It is a
    `MessagePassing`: in `torch_geometric.nn.Sequential`, `to_hetero`, `HeteroConv`, `torch_geometric.explain`. While it
    is explained, or has hooks, messages are made one by one as there, with the weights that the engine gives.

    Args:
        in_channels: of nodes, or of sources and of targets; -1 for as many as come first.
        out_channels: of a head.
        heads: heads.
        score: `scaled_dot` as TransformerConv, `gat` as GATConv, `gatv2` as GATv2Conv.
        concat: whether heads stand side by side; otherwise their mean is taken.
        dropout: probability that a weight is dropped in training, in [0, 1).
        edge_dim: features of an edge; None for none.
        bias: whether linear layers add a bias.
        root: `none`, `add` or `gate`, see `EdgeAttention`; None for the habit of the score.
        rules: which edges are read; None for the habit of the score: all as they are given for `scaled_dot`, self-loops
            replaced for the others.
    """

    def __init__(
        self,
        in_channels: Channels,
        out_channels: int,
        heads: int = 1,
        *,
        score: str = "scaled_dot",
        concat: bool = True,
        dropout: float = 0.0,
        edge_dim: int | None = None,
        bias: bool = True,
        root: str | None = None,
        rules: EdgeRules | None = None,
    ) -> None:
        layer = EdgeAttention(
            in_channels,
            out_channels,
            heads,
            score=score,
            concat=concat,
            dropout=dropout,
            edge_dim=edge_dim,
            bias=bias,
            root=root,
        )
        rules = EdgeRules(self_loops=layer.score.self_loops) if rules is None else rules
        flow = "target_to_source" if rules.direction == "backward" else "source_to_target"
        super().__init__(aggr="add", node_dim=0, flow=flow)
        self.in_channels, self.out_channels, self.heads = in_channels, out_channels, heads
        self.layer, self.rules = layer, rules
        self._explained: ReadEdges | None = None

    @property
    def add_self_loops(self) -> bool:
        """Whether self-loops are added, which `to_hetero` refuses between nodes of two kinds."""
        return self.rules.self_loops in ("add", "replace")

    def forward(
        self,
        x: Nodes,
        edge_index: Tensor,
        edge_attr: Tensor | None = None,
        size: tuple[int, int] | None = None,
        return_attention_weights: bool | None = None,
    ) -> Any:
        """Return the attention output of each node.

        Args:
            x: vectors of the nodes, or of those that are read and of those that read (None for none, by `gat`).
            edge_index: (2, edges); sources in row 0, targets in row 1.
            edge_attr: features of the edges.
            size: how many are read and how many read; without it there are as many targets without vectors as sources.
            return_attention_weights: if not None, the edges that were read and their weights (edges, heads), before
                dropout, are given too.

        Raises:
            InputError: If shapes do not fit each other, or edges lead to nodes that are not there.
        """
        source, target = (x, x) if isinstance(x, Tensor) else x
        if edge_attr is not None and edge_attr.ndim == 1:
            edge_attr = edge_attr[:, None]
        self.layer.check_features(edge_attr, source.dtype)
        read, attr, targets = _read(self.rules, source, target, edge_index, edge_attr, size)
        inputs = self.layer.score_inputs(source, target, read.edges, attr, targets)
        weights = None if return_attention_weights is None else inputs.weights()
        y = self._by_message(inputs, read, targets) if self._looked_into else self.layer.answer(inputs)
        y = self.layer.join(y, target)
        index = read.edges.index.flip(0) if self.flow == "target_to_source" else read.edges.index
        return y if weights is None else (y, (index, weights))

    @property
    def _looked_into(self) -> bool:
        """Tell whether somebody explains, or wants to see messages."""
        return bool(self.explain) or any(
            getattr(self, f"_{name}_forward_{when}") for name in HOOKS for when in ("hooks", "pre_hooks")
        )

    def _by_message(self, inputs: EdgeScoreInputs, read: ReadEdges, targets: int) -> Tensor:
        """Give what the heads read, message by message."""
        alpha = torch.dropout(inputs.weights(), self.layer.dropout, self.training)
        index, size = read.edges.index, (len(inputs.v), targets)
        if self.flow == "target_to_source":
            index, size = index.flip(0), size[::-1]
        added = None if inputs.bias is None else inputs.bias.to_values
        self._explained = read
        try:
            # propagate_type: (value: Tensor, alpha: Tensor, added: Optional[Tensor])
            return self.propagate(index, value=inputs.v, alpha=alpha, added=added, size=size)
        finally:
            self._explained = None

    def message(self, value_j: Tensor, alpha: Tensor, added: OptTensor) -> Tensor:
        """Give what an edge carries; only called where somebody looks into messages."""
        value = value_j if added is None else value_j + added
        return value * alpha[..., None]

    def explain_message(self, inputs: Tensor) -> Tensor:
        """Weigh messages by the mask of an explainer, which is of the given edges; added loops stay.

        Raises:
            InputError: If the mask is missing or of another graph.
        """
        mask, read = self._edge_mask, self._explained
        if mask is None or read is None:
            raise InputError("an explanation needs an edge mask: use torch_geometric.explain.Explainer")
        mask = read.of_given(mask.sigmoid() if self._apply_sigmoid else mask)
        mask = torch.cat([mask, mask.new_ones(read.loops)])
        return inputs * mask.view(-1, *[1] * (inputs.ndim - 1))

    def reset_parameters(self) -> None:
        """Draw fresh weights."""
        super().reset_parameters()
        self.layer.reset_parameters()

    def __repr__(self) -> str:
        name = next(name for name, kind in SCORES.items() if type(self.layer.score) is kind)
        shown = f"{self.in_channels}, {self.out_channels}, heads={self.heads}, score={name!r}"
        return f"{type(self).__name__}({shown}, {self.rules})"


@torch.compiler.disable  # type: ignore[untyped-decorator]
def _read(
    rules: EdgeRules,
    source: Tensor,
    target: Tensor | None,
    edge_index: Tensor,
    edge_attr: Tensor | None,
    size: tuple[int, int] | None,
) -> tuple[ReadEdges, Tensor | None, int]:
    """Check what a layer is given; give the edges that are read, their features, and the number of targets."""
    if getattr(edge_index, "layout", None) is not torch.strided:
        layout = f" of layout {edge_index.layout}" if isinstance(edge_index, Tensor) else ""
        shown = f"edge_index is a {type(edge_index).__name__}{layout}"
        raise InputError(f"{shown}: give (2, edges), see torch_geometric.utils.to_edge_index")
    if isinstance(edge_index, EdgeIndex):
        edge_index = edge_index.as_tensor()
    check_shapes(GraphInputs(source, edge_index, edge_attr))
    if not source.is_floating_point():
        raise InputError(f"x is {source.dtype}: vectors are numbers, x.float()")
    shape = len(source), len(target) if target is not None else len(source) if size is None else size[1]
    if size is not None and tuple(size) != shape:
        raise InputError(f"size={tuple(size)} for {shape[0]} vectors that are read and {shape[1]} that read")
    read = rules.read(edge_index, *shape)
    return read, None if edge_attr is None else read.features(edge_attr), shape[1]
