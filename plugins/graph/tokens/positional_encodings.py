"""Position encodings of nodes, by name: vectors that are added to those of their features.

Axes: n nodes, e edges that count, k numbers of each node, d channels.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core import ConfigError, Linear
from zoo.plugins.graph.structure.graph_pattern import GraphStructure
from zoo.plugins.graph.tokens.spectral import laplacian, random_walk

POSITIONS = ("random-walk", "laplacian", "degree", "none")


class Laplacian(nn.Module):
    """Project eigenvectors of the graph's Laplacian, with random signs in training: arXiv:2012.09699.

    Args:
        dim: channels.
        size: eigenvectors.
    """

    def __init__(self, dim: int, size: int) -> None:
        super().__init__()
        self.size = size
        self.project = Linear(size, dim, bias=False)

    def forward(self, graphs: GraphStructure) -> Float[Tensor, "n d"]:
        """Give the vectors."""
        if torch.compiler.is_exporting():
            raise ConfigError("position='laplacian' needs eigenvectors, which an exported program cannot compute")
        x = numbers(graphs, laplacian, self.size).to(self.project.weight.device, self.project.weight.dtype)
        if self.training:
            signs = torch.randint(2, (graphs.graphs, self.size), device=x.device).to(x.dtype) * 2 - 1
            x = x * (signs if graphs.batch is None else signs[graphs.batch])
        return self.project(x)


class RandomWalk(nn.Module):
    """Project the probabilities that a random walk is back after 1, 2, … steps: arXiv:2110.07875.

    Args:
        dim: channels.
        size: steps.
    """

    def __init__(self, dim: int, size: int) -> None:
        super().__init__()
        self.size = size
        self.project = Linear(size, dim, bias=False)

    def forward(self, graphs: GraphStructure) -> Float[Tensor, "n d"]:
        """Give the vectors."""
        weight = self.project.weight
        if torch.compiler.is_exporting():
            return self.project(traced_walk(graphs, self.size, weight))
        return self.project(numbers(graphs, random_walk, self.size).to(weight.device, weight.dtype))


class Degree(nn.Module):
    """Add a vector for the edges that lead to a node, and one for those that lead from it: arXiv:2106.05234 eq. 5.

    Args:
        dim: channels.
        size: from how many edges on all have the same vector.
    """

    def __init__(self, dim: int, size: int) -> None:
        super().__init__()
        self.size = size
        self.into, self.out = (nn.Embedding(size + 1, dim) for _ in range(2))
        for table in (self.into, self.out):
            nn.init.normal_(table.weight, std=(2 / (1 + dim)) ** 0.5)

    def forward(self, graphs: GraphStructure) -> Float[Tensor, "n d"]:
        """Give the vectors."""
        source, target = counting(graphs)
        none = target.new_zeros(graphs.nodes)
        of = (none.index_add(0, ends, torch.ones_like(ends)).clamp(max=self.size) for ends in (target, source))
        into, out = of
        return self.into(into) + self.out(out)


def node_position(name: str, dim: int, size: int) -> nn.Module | None:
    """Make a position encoding by name; None for `none`.

    Args:
        name: one of `POSITIONS`.
        dim: channels.
        size: eigenvectors, steps, or different degrees.

    Raises:
        ConfigError: If the name is unknown, or the size not positive.
    """
    if name not in POSITIONS:
        raise ConfigError(f"position={name!r} is not one of {', '.join(POSITIONS)}: nodes have no order")
    if name != "none" and size < 1:
        raise ConfigError(f"position_dim={size}: at least 1 for position={name!r}")
    kinds: dict[str, Any] = {"laplacian": Laplacian, "random-walk": RandomWalk, "degree": Degree}
    return kinds[name](dim, size) if name in kinds else None


@torch.compiler.disable  # type: ignore[untyped-decorator]
def counting(graphs: GraphStructure) -> Int[Tensor, "2 e"]:
    """Give the edges that count."""
    if torch.compiler.is_exporting():
        return graphs.graph.index
    return graphs.graph.index[:, graphs.graph.order]


def traced_walk(graphs: GraphStructure, steps: int, like: Tensor) -> Float[Tensor, "n k"]:
    """Give what `random_walk` gives, by products of whole matrices, for programs whose edges are not known.

    Args:
        graphs: whose edges each count.
        steps: how many.
        like: tells the dtype.
    """
    (source, target), nodes = graphs.graph.index.long(), graphs.nodes
    leaving = like.new_zeros(nodes).index_add(0, source, torch.ones_like(source, dtype=like.dtype))
    share = 1 / leaving[source]
    p = like.new_zeros(nodes * nodes).index_add(0, source * nodes + target, share).view(nodes, nodes)
    state, found = p, []
    for _ in range(steps):
        found.append(state.diagonal())
        state = p @ state
    return torch.stack(found, 1)


@torch.compiler.disable  # type: ignore[untyped-decorator]
def numbers(graphs: GraphStructure, function: Callable[..., Any], size: int) -> Float[Tensor, "n k"]:
    """Give numbers of each node, which are computed once for a graph that is read again."""

    def make() -> Tensor:
        if graphs.graph.index.is_meta:
            return torch.zeros(graphs.nodes, size)
        if graphs.batch is None:
            bounds = [0, graphs.nodes]
        else:
            counts = torch.bincount(graphs.batch, minlength=graphs.graphs)
            bounds = [0, *counts.cumsum(0).tolist()]
        found: Any = function(counting(graphs).cpu().numpy().astype(np.int64), bounds, size)
        return torch.from_numpy(found)

    return graphs.memoized((function.__name__, size), make)
