"""Augmentation of graphs in training: edges left out, and nodes whose features are hidden.

Axes: n nodes, e edges, f features.
"""

import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from zoo.plugins.graph.io.preprocess import Graphs
from zoo.plugins.graph.requirements import import_pyg

EDGES, NODES = "drop-edges", "mask-nodes"
SHARE = 0.1
"""Of the edges that are left out, and of the nodes whose features are hidden."""


def augmented(graphs: Graphs, names: tuple[str, ...], generator: torch.Generator) -> Graphs:
    """Change the tensors of a batch, x, edge_index, edge_attr and batch, by augmentations of these names."""
    x, index, attr, batch = graphs
    if EDGES in names:
        kept = drop_edges(index, len(x), generator)
        index, attr = index[:, kept], None if attr is None else attr[kept]
    if NODES in names:
        x = mask_nodes(x, generator)
    return x, index, attr, batch


def drop_edges(index: Int[Tensor, "2 e"], nodes: int, generator: torch.Generator) -> Int[Tensor, " kept"]:
    """Choose the edges that stay, as arXiv:1907.10903 does; those between the same two nodes stay or go together.

    Not by `torch_geometric.utils.dropout_edge`: it draws by the process's own generator, and to keep the two directions
    of an edge together it loses all that have one direction, and doubles edges from a node to itself (tested).

    Args:
        index: sources and targets.
        nodes: how many there are.
        generator: draws them.
    """
    pairs = index.amin(0) * nodes + index.amax(0)
    _, pair_of = pairs.unique(return_inverse=True)
    drawn = torch.rand(int(pair_of.max()) + 1 if len(pair_of) else 0, generator=generator)
    return (drawn[pair_of] >= SHARE).nonzero()[:, 0]


def mask_nodes(x: Shaped[Tensor, "n f"], generator: torch.Generator) -> Shaped[Tensor, "n f"]:
    """Set all features of some nodes to 0, or to category 0, as in the attribute masking of arXiv:1905.12265 sec. 3.1.

    PyTorch Geometric's `mask_feature` does it, with the random numbers of the process, which here are those of the
    generator.
    """
    import_pyg()
    from torch_geometric.utils import mask_feature

    seed = int(torch.randint(2**62, (1,), generator=generator))
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # not `torch.manual_seed`, which reaches accelerators
        masked, _ = mask_feature(x, SHARE, mode="row")
    return masked
