"""The examples of a part of a corpus: graphs and targets, held as tensors or read from a `GraphStore`."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch
from jaxtyping import Int64, Shaped
from torch import Tensor

from zoo.plugins.graph.data.storage.graph_store import GraphStore
from zoo.plugins.graph.io.preprocess import Graphs, packed
from zoo.plugins.graph.structure.graph_inputs import GraphInputs


class Example(NamedTuple):
    """A graph and its target.

    Args:
        graph: with `x`, even if without columns.
        target: a class, or labels or numbers (k); of nodes, with an axis for them in front. -100 or NaN where there
            is none.
    """

    graph: GraphInputs
    target: Tensor


class Examples(Protocol):
    """Examples of a part."""

    @property
    def sizes(self) -> Tensor:
        """Count nodes and edges of each."""

    def __len__(self) -> int:
        """Count them."""

    def __iter__(self) -> Iterator[Example]:
        """Give each."""

    def __getitem__(self, place: int, /) -> Example:
        """Give one."""

    def batch(self, places: Sequence[int]) -> tuple[Graphs, Sequence[Tensor]]:
        """Give the tensors of some graphs, see `Preprocess`, and the target of each; no `batch` for a graph alone."""

    def targets(self) -> Tensor | Sequence[Tensor]:
        """Give the target of each, as one tensor where that is at hand."""


class HeldExamples(tuple[Example, ...]):
    """Examples in memory; the tensors of a graph alone are the same each time, so that what is made of them is kept."""

    @property
    def sizes(self) -> Tensor:
        """Count nodes and edges of each."""
        return torch.tensor([len(each.graph.x) + each.graph.edge_index.shape[1] for each in self], dtype=torch.long)

    def batch(self, places: Sequence[int]) -> tuple[Graphs, Sequence[Tensor]]:
        """See `Examples.batch`."""
        chosen = [self[place] for place in places]
        graphs = [each.graph for each in chosen]
        return _alone(graphs[0]) if len(graphs) == 1 else packed(graphs), [each.target for each in chosen]

    def targets(self) -> Tensor | Sequence[Tensor]:
        """See `Examples.targets`."""
        return [each.target for each in self]


class StoredExamples:
    """Examples whose graphs are in a store.

    Args:
        store: of the graphs.
        places: of the examples in it.
        values: target of every graph in the store.
    """

    def __init__(self, store: GraphStore, places: Int64[np.ndarray, " n"], values: Shaped[Tensor, "g ..."]) -> None:
        self.store, self.places, self.values = store, places, values
        self.sizes = store.sizes(places)

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[Example]:
        """Give each."""
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, place: int) -> Example:
        """Give one."""
        at = int(self.places[place])
        return Example(self.store.alone(at), self.values[at])

    def batch(self, places: Sequence[int]) -> tuple[Graphs, Sequence[Tensor]]:
        """See `Examples.batch`."""
        at = self.places[list(places)]
        graphs = _alone(self.store.alone(int(at[0]))) if len(at) == 1 else self.store.batch(at)
        return graphs, self.values[torch.from_numpy(at)].unbind()

    def targets(self) -> Tensor | Sequence[Tensor]:
        """See `Examples.targets`."""
        return self.values[torch.from_numpy(self.places)]


def _alone(graph: GraphInputs) -> Graphs:
    return graph.x, graph.edge_index, graph.edge_attr, None
