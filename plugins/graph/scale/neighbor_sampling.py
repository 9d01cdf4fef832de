"""Neighbour sampling for training on large graphs: seed nodes with a random sample of their neighbours.

A model works out positions (`position=` random-walk, laplacian or degree) from the edges that it is given, here those
of the drawn part: a node's differ from draw to draw, and from those in the whole graph, and so do the answers, even if
all neighbours are drawn.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from zoo import MissingLibraryError

if TYPE_CHECKING:
    from torch_geometric.data import Data
    from torch_geometric.loader import NeighborLoader

NATIVE = ("pyg_lib", "torch_sparse")
"""Libraries in C++, of which PyTorch Geometric's loaders of neighbours need one."""


def neighbours(data: "Data", counts: Sequence[int], batch_size: int, **options: Any) -> "NeighborLoader":
    """Give PyTorch Geometric's `NeighborLoader` (arXiv:1706.02216): `model(batch)[: batch.batch_size]` are its nodes.

    Train a model of `position="none"`: other positions are those in the drawn part. Where degrees matter, work them out
    once, of the whole graph, and give them as features: columns of `data.x`.

    Args:
        data: the whole graph.
        counts: how many edges to a node are drawn, for each layer of the model, the last first; -1 for all.
        batch_size: seed nodes of a batch.
        options: of the loader, such as `input_nodes`, `shuffle`, `num_workers`.

    Raises:
        MissingLibraryError: If none of the libraries that draw is installed.
    """
    if not any(find_spec(name) for name in NATIVE):
        raise MissingLibraryError(
            "neighbour sampling needs pyg-lib or torch-sparse, built for the installed torch: see the installation "
            "page of PyTorch Geometric. Without them, train on whole graphs or with "
            "torch_geometric.loader.RandomNodeLoader, and evaluate with zoo.plugins.graph.scale.blockwise_inference"
        )
    from torch_geometric.loader import NeighborLoader

    return NeighborLoader(data, num_neighbors=list(counts), batch_size=batch_size, **options)
