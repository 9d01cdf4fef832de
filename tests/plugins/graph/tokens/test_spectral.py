"""Eigenvectors and random walks, against dense formulas and what PyTorch Geometric computes."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.transforms import AddLaplacianEigenvectorPE, AddRandomWalkPE

from zoo.core import ConfigError
from zoo.plugins.graph.tokens import spectral
from zoo.plugins.graph.tokens.spectral import laplacian, random_walk


def random_graph(nodes: int, seed: int) -> np.ndarray:
    """Draw a connected graph without symmetry: a path with random edges, in both directions."""
    generator = np.random.default_rng(seed)
    pairs = {(node, node + 1) for node in range(nodes - 1)}
    pairs |= {tuple(sorted(pair)) for pair in generator.integers(nodes, size=(nodes, 2)).tolist() if pair[0] != pair[1]}
    edges = np.array(sorted(pairs)).T
    return np.concatenate([edges, edges[::-1]], axis=1)


def normal_laplacian(index: np.ndarray, nodes: int) -> np.ndarray:
    a = np.zeros((nodes, nodes))
    a[index[0], index[1]] = a[index[1], index[0]] = 1
    degree = a.sum(1)
    return np.eye(nodes) - a / np.sqrt(np.outer(degree, degree))


def test_columns_are_eigenvectors_of_the_smallest_values_but_the_first() -> None:
    index = random_graph(12, 0)
    found = laplacian(index, [0, 12], 5).astype(np.float64)
    matrix = normal_laplacian(index, 12)
    values = np.linalg.eigvalsh(matrix)[1:6]
    np.testing.assert_allclose(matrix @ found, found * values, atol=1e-5)
    np.testing.assert_allclose((found**2).mean(0), 1, atol=1e-5)
    assert ((found**3).sum(0) > 0).all()


@pytest.mark.parametrize("narrow", [0, np.inf])
def test_large_graphs_give_what_small_ones_do(monkeypatch: pytest.MonkeyPatch, narrow: float) -> None:
    index = random_graph(40, 1)
    small = laplacian(index, [0, 40], 6)
    monkeypatch.setattr(spectral, "SMALL", 10)
    monkeypatch.setattr(spectral, "_factoring", lambda s: 1.0)
    monkeypatch.setattr(spectral, "NARROW", narrow)
    np.testing.assert_allclose(laplacian(index, [0, 40], 6), small, atol=1e-4)


def test_the_waves_of_a_large_path_and_ring_are_found_though_their_values_are_close() -> None:
    nodes = 20_000
    path = np.random.default_rng(0).permutation(nodes)
    found = laplacian(np.stack([path[:-1], path[1:]]), [0, nodes], 4)[path].astype(np.float64)
    waves = np.cos(np.pi * np.outer(np.arange(nodes), np.arange(1, 5)) / (nodes - 1))
    agreement = np.abs((found * waves).mean(0)) / np.sqrt((waves**2).mean(0))
    np.testing.assert_allclose(agreement, 1, atol=1e-3)
    ring = laplacian(np.stack([path, np.roll(path, 1)]), [0, nodes], 2)[path].astype(np.float64)
    first = np.exp(2j * np.pi * np.arange(nodes) / nodes)
    np.testing.assert_allclose(np.abs(first @ ring / nodes), 0.5**0.5, atol=1e-3)


def test_eigenvectors_that_are_not_found_in_time_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectral, "NARROW", 0)
    monkeypatch.setattr(spectral, "PATIENCE", 0)
    index = np.stack([np.arange(999), np.arange(1, 1000)])
    with pytest.raises(
        ConfigError, match=r"1,000 nodes and 999 edges: its 4 eigenvectors .*'degree' and 'none' have no"
    ):
        laplacian(index, [0, 1000], 4)


@pytest.mark.parametrize("function", [laplacian, random_walk])
def test_a_graph_knows_nothing_of_the_others_of_its_batch(function: object) -> None:
    parts, bounds = [random_graph(nodes, nodes) for nodes in (7, 4, 7, 9)], [0, 7, 11, 18, 27]
    index = np.concatenate([part + bound for part, bound in zip(parts, bounds, strict=False)], axis=1)
    together = function(index, bounds, 6)
    for part, first, last in zip(parts, bounds, bounds[1:], strict=False):
        alone = function(part, [0, last - first], 6)
        np.testing.assert_array_equal(together[first:last], alone)


@pytest.mark.parametrize("function", [laplacian, random_walk])
def test_a_relabelled_graph_gives_relabelled_numbers(function: object) -> None:
    index, order = random_graph(11, 3), np.random.default_rng(1).permutation(11)
    place = np.argsort(order)
    found = function(index, [0, 11], 5)
    np.testing.assert_allclose(function(place[index], [0, 11], 5), found[order], atol=1e-4)


def test_eigenvectors_take_edges_for_undirected_and_once() -> None:
    index = random_graph(9, 2)
    half = index[:, index[0] < index[1]]
    loops = np.concatenate([half, half[:, :3], np.array([[4], [4]])], axis=1)
    np.testing.assert_allclose(laplacian(loops, [0, 9], 4), laplacian(index, [0, 9], 4), atol=1e-5)


def test_what_a_small_graph_lacks_is_zero() -> None:
    index = np.array([[0, 1], [1, 0]])
    found = laplacian(index, [0, 2, 3, 3], 4)
    np.testing.assert_allclose(np.abs(found[:2, 0]), 1, atol=1e-6)
    assert not found[:2, 1:].any()
    assert not found[2].any()
    assert laplacian(np.zeros((2, 0), dtype=np.int64), [0, 0], 4).shape == (0, 4)


def peer(index: np.ndarray, nodes: int, count: int) -> np.ndarray:
    """Give PyTorch Geometric's eigenvectors, with mean square 1 and the sign of ours."""
    data = Data(edge_index=torch.from_numpy(index), num_nodes=nodes)
    found = AddLaplacianEigenvectorPE(count, "pe", is_undirected=True)(data).pe.numpy() * nodes**0.5
    return found * np.sign((found**3).sum(0))


def test_eigenvectors_are_those_of_pytorch_geometric_which_counts_equal_edges_twice_and_refuses_small_graphs() -> None:
    index = random_graph(20, 6)
    np.testing.assert_allclose(laplacian(index, [0, 20], 5), peer(index, 20, 5), atol=1e-4)
    doubled = np.concatenate([index, index[:, index.max(0) == 5]], axis=1)
    assert not np.allclose(peer(doubled, 20, 5), peer(index, 20, 5), atol=1e-2)
    np.testing.assert_allclose(laplacian(doubled, [0, 20], 5), peer(index, 20, 5), atol=1e-4)
    small = random_graph(3, 0)
    assert laplacian(small, [0, 3], 5).shape == (3, 5)
    with pytest.raises(RuntimeError, match="must match the size"):
        peer(small, 3, 5)


def test_both_of_two_equal_edges_are_walked_of_which_pytorch_geometric_loses_one() -> None:
    index = np.array([[0, 0, 0, 1, 2], [1, 1, 2, 0, 0]])  # from 0 to 1 twice, and to 2: both lead back at once
    assert random_walk(index, [0, 3], 2)[0].tolist() == pytest.approx([0, 1])
    data = AddRandomWalkPE(2, attr_name="pe")(Data(edge_index=torch.from_numpy(index), num_nodes=3))
    assert data.pe[0].tolist() == pytest.approx([0, 2 / 3])


def test_returns_are_those_of_pytorch_geometric() -> None:
    index = random_graph(10, 4)
    index = np.concatenate([index, np.array([[3, 5, 0], [3, 5, 1]])], axis=1)[:, 2:]  # directed, loops, one edge twice
    data = AddRandomWalkPE(6, attr_name="pe")(Data(edge_index=torch.from_numpy(index), num_nodes=10))
    np.testing.assert_allclose(random_walk(index, [0, 10], 6), data.pe.numpy(), atol=1e-6)


def test_a_walk_in_blocks_is_the_same_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    index = random_graph(13, 5)
    whole = random_walk(index, [0, 13], 4)
    monkeypatch.setattr(spectral, "NUMBERS", 26)
    np.testing.assert_allclose(random_walk(index, [0, 13], 4), whole, atol=1e-7)


def test_a_walk_ends_where_no_edge_leads_on() -> None:
    found = random_walk(np.array([[0, 1], [1, 0]]), [0, 3], 2)
    assert found.tolist() == [[0, 1], [0, 1], [0, 0]]


def test_a_walk_that_would_take_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectral, "MOST", 100)
    said = r"10 nodes takes \d+ edges times its nodes times 6 steps, more than 1e\+02: .*'degree' and 'none' have"
    with pytest.raises(ConfigError, match=said):
        random_walk(random_graph(10, 4), [0, 10], 6)
