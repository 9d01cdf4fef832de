"""Attention maps on graphs: a weight for each edge, never for each pair of nodes.

Axes: h heads, e edges.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core.engine.tracing import rows_apart
from zoo.core.layers.protocol import WeighsEdges
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

    Such are layers with a method `by_edge` (`WeighsEdges`), as `zoo.core.Attention`, where the tokens carry `Edges`.

    Args:
        model: of any kind.
        inputs: as for `forward`, of one set or several that are packed.
    """
    found: list[EdgeMap] = []

    def note(layer: nn.Module, given: tuple[Any, ...]) -> None:
        assert isinstance(layer, WeighsEdges)
        made = layer.by_edge(given[0])
        if made is not None:
            weights, edges = made
            heads = tuple(range(1, weights.shape[1] + 1))
            nodes = given[0].x.shape[1]
            shown = weights.T.float().cpu(), edges.index.cpu(), nodes
            found.append(EdgeMap("encoder", len(found) + 1, heads, *shown))
        elif not found:
            raise _NoGraphError

    layers = [layer for layer in model.modules() if isinstance(layer, WeighsEdges)]
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
