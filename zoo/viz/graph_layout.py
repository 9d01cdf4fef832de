"""Where the nodes of a drawn graph stand.

Axes: n nodes, e edges.
"""

import numpy as np
from jaxtyping import Float, Int

NUMBERED = 60
"""Nodes up to which they are numbered, and a graph is drawn by the lengths of its paths."""
SEED = 0

Places = Float[np.ndarray, "n 2"]


def layout(index: Int[np.ndarray, "2 e"], nodes: int) -> Places:
    """Say where nodes stand: near those that an edge joins them to, each part of the graph for itself."""
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(index.T.tolist())
    graph.remove_edges_from(list(networkx.selfloop_edges(graph)))
    if 2 < nodes <= NUMBERED and networkx.is_connected(graph):
        places = networkx.kamada_kawai_layout(graph)  # as long as paths are: rings are round
    else:
        places = networkx.spring_layout(graph, seed=SEED, iterations=200, k=2 / max(nodes, 1) ** 0.5)
    found = np.array([places[node] for node in range(nodes)])
    span = np.ptp(found, axis=0)
    return (found - found.min(0)) / np.where(span > 0, span, 1)  # as wide as high: no direction means anything
