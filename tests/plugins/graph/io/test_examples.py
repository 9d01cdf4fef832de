"""Graphs drawn for `zoo.example`."""

import torch

from zoo.plugins.graph.io.examples import example


def test_graphs_are_of_unequal_size_and_connected_both_ways() -> None:
    x, index, attr, batch = example({"node_features": [3, 2], "edge_features": 4}, 3, 0)
    assert x is not None
    assert index is not None
    assert attr is not None
    assert batch is not None
    assert batch.bincount().tolist() == [4, 6, 8]
    assert x.amax(0).tolist() == [2, 1]
    edges = list(map(tuple, index.T.tolist()))
    assert len(set(edges)) == len(edges) == len(attr)
    features = dict(zip(edges, attr, strict=True))
    assert all(torch.equal(features[a, b], features[b, a]) for a, b in edges)
    assert torch.equal(batch[index[0]], batch[index[1]])
    reach = torch.eye(18)
    reach[index[0], index[1]] = 1
    assert torch.equal(torch.linalg.matrix_power(reach, 18) > 0, batch[:, None] == batch)


def test_links_come_with_pairs_of_the_same_graph() -> None:
    *_, batch, pairs = example({"task": "link"}, 2, 0)
    assert pairs is not None
    assert batch is not None
    assert pairs.shape == (2, 6)
    assert torch.equal(batch[pairs[0]], batch[pairs[1]])
