"""The attention of a model that reads along the edges of a graph: a weight for each edge, never for each pair of nodes.

Axes: h heads, e edges.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core.engine.by_edge import edge_weights
from zoo.core.engine.tracing import rows_apart
from zoo.core.layers.attention import Attention
from zoo.core.patterns.canonical import normal
from zoo.core.patterns.edges import Edges
from zoo.core.scoring.edge_bias import EdgeBias
from zoo.core.tokens import Tokens
from zoo.viz.attention_maps import Weights


@dataclass(frozen=True)
class EdgeMap(Weights):
    """Hold the weights of a layer on the edges of a graph.

    Args:
        index: the edges: sources, which are read, in row 0, targets, which read, in row 1.
        nodes: how many there are, those that the model added behind the others included.
    """

    weights: Float[Tensor, "h e"]
    index: Int[Tensor, "2 e"]
    nodes: int


class _NoGraphError(Exception):
    """End a run whose first attention reads along no edges."""


def edge_maps_of(model: nn.Module, inputs: Sequence[Any]) -> list[EdgeMap]:
    """Give the weights of each attention that reads along edges, in the order of use; none if the first reads others.

    Such are those of `zoo.core.Attention` whose pattern is `Edges`, and layers with a method `by_edge`, which takes
    `Tokens` whose pattern that is and gives the weights (edges, heads).

    Args:
        model: of any kind.
        inputs: as for `forward`, of one set or several that are packed.
    """
    found: list[EdgeMap] = []

    def note(layer: Any, given: tuple[Any, ...]) -> None:
        made = _weights(layer, given[0])
        if made is not None:
            weights, edges = made
            heads = tuple(range(1, weights.shape[1] + 1))
            nodes = given[0].x.shape[1]
            shown = weights.T.float().cpu(), edges.index.cpu(), nodes
            found.append(EdgeMap("encoder", len(found) + 1, heads, *shown))
        elif not found:
            raise _NoGraphError

    layers = [layer for layer in model.modules() if isinstance(layer, Attention) or hasattr(layer, "by_edge")]
    hooks = [layer.register_forward_pre_hook(note) for layer in layers]
    try:
        with torch.no_grad(), rows_apart():
            model(*inputs)
    except _NoGraphError:
        return []
    finally:
        for hook in hooks:
            hook.remove()
    return found


def _weights(layer: Any, tokens: Tokens) -> tuple[Tensor, Edges] | None:
    """Give the weights of a layer's edges (edges, heads), and the edges; None where it reads others."""
    if not isinstance(layer, Attention):
        return (layer.by_edge(tokens), tokens.pattern) if isinstance(tokens.pattern, Edges) else None
    graph = normal(layer.restrict(tokens))
    if not isinstance(graph, Edges) or len(tokens.x) != 1:
        return None
    asked = layer.ask(tokens, None, None)
    assert asked.bias is None or isinstance(asked.bias, EdgeBias)
    return edge_weights(asked.q, asked.k, graph, asked.keys, asked.bias)[0], graph
