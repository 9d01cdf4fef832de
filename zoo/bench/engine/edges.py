"""Attention on graphs beside PyTorch Geometric's TransformerConv, layers with equal projections; and beside itself."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn

from zoo.bench.speed.case import Case, Job
from zoo.core.engine.dispatch import attend
from zoo.core.patterns.edges import Edges

NODES, HEADS, HEAD_DIM = 10_000, 4, 16


def random_graph(nodes: int, edges: int, hub: float = 0.0) -> Tensor:
    """Draw edges, equal ones too, of which a share leads to the first node."""
    index = torch.randint(nodes, (2, edges), generator=torch.Generator().manual_seed(0), device="cpu")
    index[1, : int(hub * edges)] = 0
    return index.to(torch.get_default_device())


class Layer(nn.Module):
    """TransformerConv's layer on the engine: the projections of a peer, `attend`, and its skip connection.

    Args:
        peer: the TransformerConv whose projections are used.
    """

    def __init__(self, peer: Any) -> None:
        super().__init__()
        self.projections = nn.ModuleList([peer.lin_query, peer.lin_key, peer.lin_value])
        self.skip = peer.lin_skip

    def forward(self, x: Tensor, edges: Edges) -> Tensor:
        """Let each node read the nodes that an edge comes from."""
        q, k, v = (layer(x).view(1, len(x), HEADS, HEAD_DIM) for layer in self.projections)
        return attend(q, k, v, edges).view(len(x), -1) + self.skip(x)


def job(layer: nn.Module, x: Tensor, graph: Tensor | Edges, step: bool) -> Job:
    """Make the job of a layer: without gradients, or with those of input and weights."""

    def forward() -> None:
        with torch.no_grad():
            layer(x, graph)

    def both() -> None:
        wanted = [x, *layer.parameters()]
        torch.autograd.grad(layer(x, graph).sum(), wanted)

    return both if step else forward


def against_peer(edges: int, step: bool, hub: float = 0.0) -> tuple[Job, Job]:
    """Make our job and TransformerConv's on the same graph, with the same weights."""
    torch.manual_seed(0)
    peer = import_module("torch_geometric.nn").TransformerConv(HEADS * HEAD_DIM, HEAD_DIM, heads=HEADS)
    x = torch.randn(NODES, HEADS * HEAD_DIM, requires_grad=step)
    index = random_graph(NODES, edges, hub)
    return job(Layer(peer), x, Edges(index, "each"), step), job(peer, x, index, step)


def without_projections(edges: int, step: bool, hub: float = 0.0) -> tuple[Job, Job]:
    """Make the job of `attend` and that of TransformerConv's messages, both with q, k and v given."""
    torch.manual_seed(0)
    peer = import_module("torch_geometric.nn").TransformerConv(HEADS * HEAD_DIM, HEAD_DIM, heads=HEADS)
    index = random_graph(NODES, edges, hub)
    pattern = Edges(index, "each")
    q, k, v = (torch.randn(NODES, HEADS, HEAD_DIM, requires_grad=step) for _ in range(3))
    upstream = torch.randn(NODES, HEADS, HEAD_DIM)

    def ours() -> Tensor:
        return attend(q[None], k[None], v[None], pattern).squeeze(0)

    def theirs() -> Tensor:
        y: Tensor = peer.propagate(index, query=q, key=k, value=v, edge_attr=None)
        return y.view(NODES, HEADS, HEAD_DIM)

    def both(function: Callable[[], Tensor]) -> None:
        torch.autograd.grad(function(), (q, k, v), upstream)

    def forward(function: Callable[[], Tensor]) -> None:
        with torch.no_grad():
            function()

    run = both if step else forward
    return partial(run, ours), partial(run, theirs)


def against_half(edges: int) -> tuple[Job, Job]:
    """Make a training step on a graph, and the same on one of half as many nodes and edges."""
    jobs = []
    for nodes, count in ((2 * NODES, edges), (NODES, edges // 2)):
        q, k, v = (torch.randn(1, nodes, HEADS, HEAD_DIM, requires_grad=True) for _ in range(3))
        jobs.append(partial(_step, q, k, v, Edges(random_graph(nodes, count), "each")))
    return jobs[0], jobs[1]


def _step(q: Tensor, k: Tensor, v: Tensor, edges: Edges) -> None:
    torch.autograd.grad(attend(q, k, v, edges).sum(), (q, k, v))


PEER, GIVEN = "PyG TransformerConv", "PyG TransformerConv, q k v given"
CASES: tuple[Case, ...] = (
    Case("10,000 nodes, 100,000 edges, forward", GIVEN, 0.35, partial(without_projections, 100_000, False)),
    Case("10,000 nodes, 100,000 edges, forward and backward", GIVEN, 0.3, partial(without_projections, 100_000, True)),
    Case("a hub with 20 % of the edges, forward", GIVEN, 0.5, partial(without_projections, 100_000, False, 0.2)),
    Case(
        "a hub with 20 % of the edges, forward and backward",
        GIVEN,
        0.5,
        partial(without_projections, 100_000, True, 0.2),
    ),
    Case("whole layer, 100,000 edges, forward", PEER, 0.35, partial(against_peer, 100_000, False)),
    Case("whole layer, 100,000 edges, forward and backward", PEER, 0.3, partial(against_peer, 100_000, True)),
    Case("1,000,000 edges, training step, memory", PEER, 0.35, partial(against_peer, 1_000_000, True), memory=True),
    Case("400,000 edges, training step", "half of it", 2.15, partial(against_half, 400_000)),
    Case("400,000 edges, training step, memory", "half of it", 2.15, partial(against_half, 400_000), memory=True),
)
