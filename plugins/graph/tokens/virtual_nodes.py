"""Nodes with global attention: virtual nodes, or some of the graph's own.

Axes: n nodes, g graphs, v virtual nodes of each.
"""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Int
from torch import Tensor, nn

from zoo.core import ConfigError, InputError, Segments, Tokens
from zoo.plugins.graph.structure.graph_pattern import GraphStructure
from zoo.plugins.graph.tokens.edge_encoding import graph_of


class VirtualNodes(nn.Module):
    """Add nodes to each graph that read all its nodes and are read by them, and take them away behind the encoder.

    arXiv:1704.01212 sec. 5.2: any two nodes are two steps apart then, for so many edges more as there are nodes.

    Args:
        encoder: `Tokens` to `Tokens`, with their `states`.
        dim: channels.
        count: virtual nodes of each graph; they begin as different vectors, which are learned.

    Raises:
        ConfigError: If the count is not positive.
    """

    def __init__(self, encoder: nn.Module, dim: int, count: int = 1) -> None:
        super().__init__()
        if count < 1:
            raise ConfigError(f"virtual_nodes={count}: at least 1 is added")
        self.encoder = encoder
        self.vectors = nn.Parameter(torch.randn(count, dim) * dim**-0.5)

    def forward(self, tokens: Tokens) -> Tokens:
        """Give the nodes' own vectors."""
        return self._without(self.encoder(self.joined(tokens)), tokens)

    def states(self, tokens: Tokens) -> Iterator[Tokens]:
        """Give the nodes' own vectors after each block."""
        for state in self.encoder.states(self.joined(tokens)):  # type: ignore[operator]
            yield self._without(state, tokens)

    def joined(self, tokens: Tokens) -> Tokens:
        """Put the virtual nodes behind the others, those of the first graph first.

        Raises:
            InputError: If the pattern is no graph.
        """
        graph = graph_of(tokens.pattern)
        if graph is None or graph is not tokens.pattern:
            raise InputError(f"virtual nodes are added to graphs, not to sets with the pattern {tokens.pattern!r}")
        nodes, count = tokens.x.shape[1], len(self.vectors)
        ids = tokens.keys.ids if isinstance(tokens.keys, Segments) else None
        graphs = tokens.keys.sets if isinstance(tokens.keys, Segments) else 1
        sets = None
        if ids is not None:
            behind = torch.arange(graphs, device=ids.device).repeat_interleave(count)
            sets = Segments(torch.cat([ids, behind[None].to(ids.dtype)], dim=1), count=graphs)
        key = "virtual", f"{nodes} {graphs} {count}"  # as text: sizes of an exported program are symbols without a hash
        edges = graph.extended(key, lambda: spokes(nodes, count, ids, graph.index), sets)
        x = torch.cat([tokens.x, self.vectors.to(tokens.x.dtype).repeat(graphs, 1)[None]], dim=1)
        return Tokens(x, edges, sets)

    @staticmethod
    def _without(state: Tokens, tokens: Tokens) -> Tokens:
        return tokens.with_x(state.x[:, : tokens.x.shape[1]])


def global_edges(graphs: GraphStructure, numbers: Sequence[int]) -> Int[Tensor, "2 m"]:
    """Give the edges that `Globals` adds to each graph, as far as they are not there.

    Args:
        graphs: what is read so far.
        numbers: of the nodes within their graph; one with fewer nodes lacks some of them.
    """
    index = graphs.graph.index
    own = torch.arange(graphs.nodes, device=index.device)
    batch = torch.zeros_like(own) if graphs.batch is None else graphs.batch
    counts = torch.bincount(batch, minlength=graphs.graphs)
    first = counts.cumsum(0) - counts
    wanted = torch.tensor(sorted(set(numbers)), device=index.device)
    hubs = (first[batch, None] + wanted).flatten()
    pair = torch.stack([own.repeat_interleave(len(wanted)), hubs])[:, (wanted < counts[batch, None]).flatten()]
    numbered = torch.cat([pair[1] * graphs.nodes + pair[0], pair[0] * graphs.nodes + pair[1]]).unique()
    new = numbered[~torch.isin(numbered, index[1] * graphs.nodes + index[0])]
    return torch.stack([new % graphs.nodes, new.div(graphs.nodes, rounding_mode="floor")])


def spokes(nodes: int, count: int, ids: Int[Tensor, "1 n"] | None, like: Tensor) -> Int[Tensor, "2 m"]:
    """Give the edges between nodes and the virtual nodes of their graph, in both directions.

    Args:
        nodes: how many there are.
        count: virtual nodes of each graph.
        ids: the graph of each node; None for one graph.
        like: edges, for dtype and device.
    """
    own = torch.arange(nodes, device=like.device)
    graph = torch.zeros_like(own) if ids is None else ids[0].to(like.device)
    hubs = nodes + graph[:, None] * count + torch.arange(count, device=like.device)
    pair = torch.stack([own[:, None].expand_as(hubs).flatten(), hubs.flatten()])
    return torch.cat([pair, pair.flip(0)], dim=1).to(like.dtype)
