"""One layer of attention on the edges of 10,000 nodes, beside PyTorch Geometric's with the same weights; and itself.

Both sides are models of one layer that read raw tensors and compute the same function.
"""

from functools import partial
from typing import Any

import torch
from torch import nn

import zoo
from zoo.bench import Case, Job
from zoo.bench.engine import HEAD_DIM, HEADS, NODES, job, random_graph
from zoo.registry import load

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "GATConv": ("gat-cora", {}),
    "GATv2Conv": ("gatv2-cora", {}),
    "TransformerConv": ("graph-transformer-conv", {"root": "add"}),
}
"""The name whose layer computes what the peer's does, and what makes it the peer's default."""


def pair(peer: str) -> tuple[nn.Module, nn.Module]:
    """Make our model of one layer and PyTorch Geometric's, with the same weights.

    Args:
        peer: one of `MODELS`.
    """
    torch.manual_seed(0)
    name, options = MODELS[peer]
    sizes: dict[str, Any] = {
        "node_features": HEADS * HEAD_DIM,
        "dim": HEAD_DIM,
        "num_heads": HEADS,
        "depth": 2,
        "num_classes": 0,
    }
    alone: dict[str, Any] = {
        "norm": "none",
        "activation": "none",
        "dropout": 0.0,
    }  # two layers less that of the labels, and no more
    model: Any = zoo.create(name, **sizes, **alone, **options)
    return model, load(model.spec, model.spec.peer)(model)


def beside(peer: str, edges: int, step: bool, hub: float = 0.0) -> tuple[Job, Job]:
    """Make our job and the peer's on the same graph.

    Args:
        peer: one of `MODELS`.
        edges: of the graph.
        step: whether to compute the gradients of input and weights.
        hub: share of the edges that lead to one node.
    """
    index = random_graph(NODES, edges, hub)
    x = torch.randn(NODES, HEADS * HEAD_DIM, generator=torch.Generator().manual_seed(0)).requires_grad_(step)
    ours, theirs = (job(model, x, index, step) for model in pair(peer))
    return ours, theirs


def tenfold(peer: str, edges: int) -> tuple[Job, Job]:
    """Make our training step on ten times as many edges between the same nodes, and that on these."""
    return beside(peer, 10 * edges, True)[0], beside(peer, edges, True)[0]


EDGES, MANY = 100_000, 1_000_000

CASES = [
    *(
        Case(
            f"layer, {NODES:,} nodes, {EDGES:,} edges, {what}", f"PyG {peer}", 0.45, partial(beside, peer, EDGES, step)
        )
        for peer in MODELS
        for what, step in (("forward", False), ("training step", True))
    ),
    *(
        Case(
            f"layer, a hub with 20 % of {EDGES:,} edges, {what}",
            "PyG TransformerConv",
            0.5,
            partial(beside, "TransformerConv", EDGES, step, 0.2),
        )
        for what, step in (("forward", False), ("training step", True))
    ),
    *(
        Case(
            f"layer, {MANY:,} edges, training step{', memory' if memory else ''}",
            f"itself, {EDGES:,} edges",
            11.0,
            partial(tenfold, "TransformerConv", EDGES),
            memory,
        )
        for memory in (False, True)
    ),
    Case(
        f"layer, {MANY:,} edges, training step, memory",
        "PyG TransformerConv",
        0.35,
        partial(beside, "TransformerConv", MANY, True),
        memory=True,
    ),
]
