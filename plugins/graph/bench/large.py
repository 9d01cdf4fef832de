"""One training step on a large graph, whole, in a process of its own: how much memory that needs at its height."""

import os
from functools import partial
from typing import Any

import torch
from torch.nn.functional import cross_entropy

import zoo
from zoo.bench import Bytes, Case, Job
from zoo.bench.engine import random_graph
from zoo.core import recomputed

NAME, NODES, EDGES, CHANNELS, LABELS = "graph-small", 1_000_000, 10_000_000, 64, 40
"""The model, the graph, channels of its nodes, and labels that each may have."""
GIB = 2**30
LIMIT = 16 * GIB


def train(nodes: int, edges: int) -> None:
    """Draw a graph, make a model, and take one step: forward, loss of each node, backward, AdamW.

    Nodes know their degree: exact probabilities of random walks take time that grows with nodes times edges. What
    goes into a block is kept, the rest is computed again.

    Args:
        nodes: of the graph.
        edges: from any node to any.
    """
    torch.manual_seed(0)
    index, x = random_graph(nodes, edges), torch.randn(nodes, CHANNELS)
    target = torch.randint(LABELS, (nodes,))
    sizes: dict[str, Any] = {"node_features": CHANNELS, "edge_features": 0, "num_classes": LABELS}
    model: Any = zoo.create(NAME, task="tag", position="degree", **sizes)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    with recomputed(model.encoder.blocks):
        cross_entropy(model(x, index), target).backward()
    optimizer.step()


def job() -> tuple[Job, Bytes] | str:
    """Make the job and say how much memory it may need, or that the machine has not so much."""
    here = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if here < LIMIT:
        return f"this machine has {here / GIB:.0f} GiB of memory"
    return partial(train, NODES, EDGES), float(LIMIT)


CASES = [
    Case(
        f"{NAME}, {NODES:,} nodes, {EDGES:,} edges, training step, memory of the process",
        f"{LIMIT // GIB} GiB",
        1.0,
        build=job,
        memory=True,
    )
]
