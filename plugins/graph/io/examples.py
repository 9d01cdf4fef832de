"""Graphs drawn from a seed, of unequal size, for `zoo.example`.

Axes: n nodes, e edges, f features, p pairs.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from zoo.plugins.graph.tokens.feature_encoders import Kinds

SMALLEST = 4
"""Nodes of the first graph; each has two more than the one before."""
PAIRS = 3
"""That are asked about, of each graph."""


def example(config: Mapping[str, Any], batch_size: int, seed: int) -> tuple[Tensor | None, ...]:
    """Draw trees with some edges more, each edge in both directions: x, edge_index, edge_attr and batch.

    Where the task is `link`, pairs (2, p) follow.
    """
    generator = torch.Generator().manual_seed(seed)
    edges, batch, pairs, first = [], [], [], 0
    for graph in range(batch_size):
        nodes = SMALLEST + 2 * graph
        parents = [int(torch.randint(node, (), generator=generator)) for node in range(1, nodes)]
        joined = {(parent, node) for node, parent in enumerate(parents, start=1)}
        more = torch.randint(nodes, (nodes // 2, 2), generator=generator).sort(1).values
        joined |= {(a, b) for a, b in more.tolist() if a != b}
        edges += [(a + first, b + first) for a, b in sorted(joined)]
        pairs.append(torch.randint(nodes, (2, PAIRS), generator=generator) + first)
        batch += [graph] * nodes
        first += nodes
    index = torch.tensor(edges).T
    index = torch.cat([index, index.flip(0)], dim=1)
    x = random_features(config.get("node_features", 0), first, generator)
    attr = None
    if config.get("edge_features", 0):
        attr = random_features(config["edge_features"], len(edges), generator).repeat(2, 1)
    found = x, index, attr, torch.tensor(batch)
    return (*found, torch.cat(pairs, dim=1)) if config.get("task") == "link" else found


def random_features(kinds: Kinds, count: int, generator: torch.Generator) -> Tensor:
    """Draw features of so many nodes or edges: numbers from a normal distribution, or categories."""
    if isinstance(kinds, int):
        return torch.randn(count, kinds, generator=generator)
    return torch.stack([torch.randint(kind, (count,), generator=generator) for kind in kinds], dim=1)
