"""`GraphStore`: any number of graphs in flat arrays, memory-mapped, so that processes share them; batches by slices.

PyTorch Geometric's `OnDiskDataset` keeps graphs in SQLite: it takes ten times the disk, and one query for each graph of
a batch (tested). Its `InMemoryDataset` has flat tensors too, of int64, made of all graphs as objects at once.

Axes: g graphs, n nodes, e edges, f and a features of them, b graphs of a batch.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int, Int64
from numpy.typing import NDArray
from torch import Tensor

from zoo.plugins.graph.data.storage.growing_arrays import mapped
from zoo.plugins.graph.structure.graph_inputs import GraphInputs

_ALONE = 8
"""Graphs that were read alone and are kept, so that what is made of their tensors is kept with them."""


class GraphStore:
    """Graphs, and a text for each, such as its targets.

    Args:
        arrays: `x` (n, f), `edges` (e, 2) of the nodes of their graph, `edge_attr` (e, a); `num_nodes`, `num_edges`,
            `keys` (hash of what the graph is), `groups` (hash of what stays together) and `lines` (in the source) of
            each; `text` (bytes) and `text_sizes`.
        about: what else belongs to them, values of JSON.
        folder: holds the arrays; None if they are in memory.
    """

    def __init__(
        self, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any], folder: Path | None = None
    ) -> None:
        self.arrays, self.about, self.folder = arrays, about, folder
        self._first_node = _begins(arrays["num_nodes"])
        self._first_edge = _begins(arrays["num_edges"])
        self.alone = lru_cache(_ALONE)(self._alone)

    @classmethod
    def open(cls, folder: Path) -> "GraphStore":
        """Map the arrays of a folder."""
        return cls(*mapped(folder), folder)

    def __reduce__(self) -> tuple[Any, ...]:
        """Give another process the path of the arrays."""
        return (GraphStore, (self.arrays, self.about)) if self.folder is None else (GraphStore.open, (self.folder,))

    def __len__(self) -> int:
        return len(self.arrays["num_nodes"])

    def sizes(self, places: Int64[np.ndarray, " b"]) -> Int[Tensor, " b"]:
        """Count nodes and edges of graphs."""
        counts = self.arrays["num_nodes"][places].astype(np.int64) + self.arrays["num_edges"][places]
        return torch.from_numpy(counts)

    def batch(self, places: Sequence[int] | Int64[np.ndarray, " b"]) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
        """Give x, edge_index, edge_attr and batch of graphs, one behind the other."""
        rows = np.asarray(places)
        nodes, edges = (self.arrays[name][rows].astype(np.int64) for name in ("num_nodes", "num_edges"))
        x = self._read("x", self._first_node[rows], nodes)
        ends = self._read("edges", self._first_edge[rows], edges) + np.repeat(_begins(nodes), edges)[:, None]
        attr = self._read("edge_attr", self._first_edge[rows], edges) if self.arrays["edge_attr"].shape[1] else None
        batch = np.repeat(np.arange(len(rows)), nodes)
        return (
            torch.from_numpy(x),
            torch.from_numpy(np.ascontiguousarray(ends.T)),
            None if attr is None else torch.from_numpy(attr),
            torch.from_numpy(batch),
        )

    def _alone(self, place: int) -> GraphInputs:
        return GraphInputs(*self.batch([place])[:3])

    def texts(self) -> Iterator[str]:
        """Give the text of each graph."""
        end = 0
        for size in self.arrays["text_sizes"].tolist():
            yield self.arrays["text"][end : end + size].tobytes().decode()
            end += size

    def _read(self, name: str, begins: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[Any]:
        """Read stretches of an array, whole numbers as int64."""
        array = self.arrays[name]
        found = np.asarray(array[np.arange(counts.sum()) + np.repeat(begins - _begins(counts), counts)])
        return found if found.dtype.kind == "f" else found.astype(np.int64)


def _begins(counts: NDArray[Any]) -> NDArray[np.int64]:
    """Give the sum of the counts before each."""
    return np.cumsum(counts, dtype=np.int64) - counts
