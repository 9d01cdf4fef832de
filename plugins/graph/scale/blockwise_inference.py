"""Blockwise inference on large graphs: layer after layer, a block of nodes at a time, with the exact result.

Beside the graph, memory holds the vectors of all nodes before and behind a layer; all else follows the block: its
nodes, the edges that lead to them, and the nodes that those come from.
Axes: n nodes, t nodes of a block (targets), s nodes that these read (sources), d channels.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core import AttentionLayer, ConfigError, Edges, Full, InputError, PreNormBlock, Tokens, overridden
from zoo.plugins.graph.models.gat import GraphLayer
from zoo.plugins.graph.models.gps_layers import GpsBlock
from zoo.plugins.graph.structure.graph_pattern import Graph

NODES = 1 << 16
"""Of a block, where nobody says."""


@contextmanager
def in_blocks(model: nn.Module, nodes: int = NODES) -> Iterator[None]:
    """Let a model answer block by block, without gradients, until the `with` ends.

    A node that many others read is projected for each block that reads it: `local_order` makes those few.

    Args:
        model: of graphs, whose layers read along the edges and nothing else, in evaluation.
        nodes: of a block.

    Raises:
        ConfigError: If the model is in training, its layers read whole graphs, or a block has no nodes.
        InputError: From the model, if what it reads is no graph.
    """
    if nodes < 1:
        raise ConfigError(f"nodes={nodes}: a block has at least one")
    if model.training:
        raise ConfigError("a model in training is not computed in blocks: model.eval()")
    if any(isinstance(part, GpsBlock) for part in model.modules()):
        raise ConfigError("a GpsBlock lets each node read its whole graph: no block of nodes can do without the others")
    layers = [part for part in model.modules() if isinstance(part, PreNormBlock | GraphLayer)]
    if not layers:
        raise ConfigError(f"{type(model).__name__} has no layer that reads along edges")
    for layer in layers:
        if isinstance(layer, PreNormBlock) and not isinstance(layer.attention, AttentionLayer):
            raise ConfigError(f"{type(layer.attention).__name__} knows no nodes that only read, as those of a block do")
        if isinstance(layer, PreNormBlock) and layer.attention.pattern != Full():
            raise ConfigError(f"{layer.attention.pattern!r} counts the nodes of the whole graph, not those of a block")
    with torch.no_grad(), overridden(layers, lambda layer: partial(_forward, layer, nodes)):
        yield


def _forward(layer: Any, nodes: int, tokens: Tokens) -> Tokens:
    """Give what a layer makes of its tokens."""
    graph = tokens.pattern
    if not isinstance(graph, Graph) or len(tokens.x) != 1:
        raise InputError(f"blocks of nodes read one row of nodes and a Graph; got {graph!r}")
    x = tokens.x.squeeze(0)
    if not len(x):
        whole: Tokens = type(layer).forward(layer, tokens)
        return whole
    step: Callable[..., Tensor] = _block if isinstance(layer, PreNormBlock) else _layer
    y: Tensor | None = None
    for first, places in _blocks(graph, len(x), nodes):
        own = x[first : first + nodes]
        sources, part = _part(graph, places, first)
        found = step(layer, own, x.index_select(0, sources), part)
        y = found.new_empty(len(x), found.shape[1]) if y is None else y
        y[first : first + nodes] = found
    return tokens if y is None else tokens.with_x(y[None])


def _blocks(graph: Graph, count: int, nodes: int) -> Iterator[tuple[int, Tensor]]:
    """Give the first node of each block, and the edges that lead to its nodes."""
    order = graph.order
    target = graph.index[1].index_select(0, order)
    begins = torch.arange(0, count + nodes, nodes, device=target.device)
    bounds = torch.searchsorted(target, begins.to(target.dtype)).tolist()
    for block, first in enumerate(range(0, count, nodes)):
        yield first, order[bounds[block] : bounds[block + 1]]


def _part(graph: Graph, places: Tensor, first: int) -> tuple[Tensor, Graph]:
    """Give the nodes that a block reads, and the edges from them, counted anew, to its nodes."""
    features = graph.features
    if features is not None:  # the first edges have some
        known = places < len(features)
        features = features.index_select(0, places[known])
        places = torch.cat([places[known], places[~known]])
    source, target = graph.index.index_select(1, places)
    sources, names = torch.unique(source, return_inverse=True)
    return sources, Graph.of(Edges(torch.stack([names, (target - first).to(names.dtype)]), "each"), features, None)


def _block(block: PreNormBlock, own: Tensor, read: Tensor, graph: Graph) -> Float[Tensor, "t d"]:
    """Do what `PreNormBlock.forward` does, for targets that read sources."""
    attention: Any = block.attention
    x = own[None]
    x = x + attention(Tokens(block.norm1(x)), Tokens(block.norm1(read[None]), graph))
    return (x + block.mlp(block.norm2(x)))[0]


def _layer(layer: GraphLayer, own: Tensor, read: Tensor, graph: Graph) -> Float[Tensor, "t d"]:
    """Do what `GraphLayer.forward` does, for targets that read sources."""
    y = layer.attention.layer(read, own, graph, graph.features)
    return layer.behind(own, y)
