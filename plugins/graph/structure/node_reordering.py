"""`Order`: a permutation of nodes that places neighbours close together, for memory locality on large graphs.

Axes: n nodes, e edges.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from zoo.plugins.graph.structure.graph_inputs import GraphInputs, check_ends


@dataclass(frozen=True, eq=False)
class Order:
    """Hold a new order of nodes.

    Args:
        nodes: which node stands first, second, ….
    """

    nodes: Int[Tensor, " n"]

    @cached_property
    def places(self) -> Int[Tensor, " n"]:
        """Where each node stands."""
        places = torch.empty_like(self.nodes)
        places[self.nodes] = torch.arange(len(places), device=places.device)
        return places

    def given(self, graphs: GraphInputs) -> GraphInputs:
        """Give the same graphs with their nodes in this order; edges stay in theirs."""
        x, index, attr, batch, pairs, count = graphs
        return GraphInputs(
            x[self.nodes],
            self.places[index],
            attr,
            None if batch is None else batch[self.nodes],
            None if pairs is None else self.places[pairs],
            count,
        )

    def back(self, answer: Shaped[Tensor, " n *rest"]) -> Shaped[Tensor, " n *rest"]:
        """Give what belongs to nodes in this order in the one that they had before."""
        return answer[self.places]


def local_order(graphs: GraphInputs) -> Order:
    """Find an order by SciPy's reverse Cuthill-McKee (doi:10.1145/800195.805928), the graphs of a batch one by one.

    It pays where neighbours can stand close: on grids, meshes, roads and molecules whose nodes come in any order. On
    random graphs and on those with hubs it does nothing.

    Args:
        graphs: with at least one node.

    Raises:
        InputError: If an edge joins nodes that are not there.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    nodes, index = len(graphs.x), graphs.edge_index
    check_ends("edge_index", index, nodes)
    ends = tuple(index.cpu().numpy())
    joined = coo_array((np.ones(index.shape[1], dtype=np.float32), ends), shape=(nodes, nodes)).tocsr()
    order = torch.from_numpy(reverse_cuthill_mckee(joined, symmetric_mode=False).astype(np.int64)).to(index.device)
    if graphs.batch is not None:
        order = order[torch.argsort(graphs.batch[order], stable=True)]
    return Order(order)
