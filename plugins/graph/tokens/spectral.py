"""Structural node features: eigenvectors of the graph Laplacian, and return probabilities of random walks.

Not by PyTorch Geometric's `AddLaplacianEigenvectorPE` and `AddRandomWalkPE`. The first counts equal edges twice and
fails for graphs of fewer nodes than columns; the second loses one of two equal edges (all tested). Both serve one graph
at a time: for a hundred molecules they take 4 and 50 times as long.

Everything is computed graph by graph, so that no number depends on the other graphs of a batch; SciPy's sparse matrices
serve large graphs.
Axes: n nodes, e edges, k numbers of each node.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from zoo.core import ConfigError

SMALL = 512
"""Nodes up to which a graph's matrix is written out."""
NARROW = 5e9
"""Products by which a graph is factored, at most, to find its eigenvectors: about ten seconds."""
PATIENCE = 4e10
"""Products by which eigenvectors of other large graphs are looked for, at most: about ten seconds."""
NUMBERS = 1 << 21
"""Of a walk's state that stand in memory at once: 8 MiB, which a cache holds."""
MOST = 2e10
"""Products of a walk: about ten seconds."""

Index = Int[np.ndarray, "2 e"]
Bounds = Sequence[int]
"""Where each graph's nodes begin, and the end."""


def laplacian(index: Index, bounds: Bounds, count: int) -> Float[np.ndarray, "n k"]:
    """Give the eigenvectors of the smallest eigenvalues of I - D^-1/2 A D^-1/2 but the first: arXiv:2012.09699 eq. 1.

    Edges are taken for undirected, and equal ones for one. A column of a graph has mean square 1, so that it says the
    same in graphs of any size, and the sign with which its cubes sum to more than 0; it is 0 where a graph has no more
    eigenvectors. To vectors of one eigenvalue no order and no sign belongs: these are as LAPACK and ARPACK give them.

    Args:
        index: edges, none of them between graphs.
        bounds: of the graphs.
        count: eigenvectors.

    Raises:
        ConfigError: If those of a large graph are not found in time.
    """
    from scipy.sparse import coo_array

    nodes = bounds[-1]
    source, target = index[:, index[0] != index[1]]
    ones = np.ones(2 * len(source))
    ends = np.concatenate([source, target]), np.concatenate([target, source])
    a = coo_array((ones, ends), shape=(nodes, nodes)).tocsr()
    a.data[:] = 1.0
    degree = np.asarray(a.sum(1)).ravel()
    root = np.divide(1.0, np.sqrt(degree), out=np.zeros(nodes), where=degree > 0)
    s = a.multiply(root[:, None]).multiply(root[None]).tocsr()
    found = np.zeros((nodes, count), dtype=np.float32)
    sizes = np.diff(bounds)
    for size in np.unique(sizes):
        first = np.asarray(bounds)[:-1][sizes == size]
        if size > SMALL:
            for begin in first:
                one = _largest(s[begin : begin + size, begin : begin + size], count + 1)
                found[begin : begin + size, : one.shape[1] - 1] = one[:, 1:]
        elif size > 1:
            blocks = np.stack([s[begin : begin + size, begin : begin + size].toarray() for begin in first])
            vectors = np.linalg.eigh(blocks)[1][:, :, ::-1][:, :, 1 : count + 1]
            for begin, each in zip(first, vectors, strict=True):
                found[begin : begin + size, : each.shape[1]] = each
    for begin, end in pairwise(bounds):
        found[begin:end] *= np.sqrt(end - begin) * _signs(found[begin:end])
    return found


def _largest(s: Any, count: int) -> Float[np.ndarray, "n k"]:
    """Give the eigenvectors of a large symmetric matrix whose eigenvalues are greatest, those of the greatest first.

    Rings, grids and trees have close eigenvalues, which products do not tell apart; but few nodes cut such graphs, so
    that they are factored fast, and I - S is inverted instead. In others the eigenvalues stand apart.

    Raises:
        ConfigError: If they are not found in time.
    """
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import ArpackError, eigsh

    nodes = s.shape[0]
    start = np.random.default_rng(0).standard_normal(nodes)
    if _factoring(s) <= min(NARROW, nodes**3 / 256):
        values, vectors = eigsh((eye_array(nodes) - s).tocsc(), count, sigma=-1e-6, which="LM", v0=start)
        return vectors[:, np.argsort(values, kind="stable")]
    kept = min(nodes, 4 * count)
    restarts = max(1, int(PATIENCE / (kept * (s.nnz + 4 * kept * nodes))))
    try:
        values, vectors = eigsh(s, count, which="LA", v0=start, ncv=kept, maxiter=restarts, tol=1e-7)
    except ArpackError as error:
        raise ConfigError(
            f"position='laplacian' of a graph of {nodes:,} nodes and {s.nnz // 2:,} edges: its {count - 1} "
            "eigenvectors are not found in time; position='degree' and 'none' have no limit"
        ) from error
    return vectors[:, np.argsort(-values, kind="stable")]


def _factoring(s: Any) -> float:
    """Give by how many products a symmetric matrix is factored, at most: squares of its band, row by row."""
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    place = np.argsort(reverse_cuthill_mckee(s, symmetric_mode=True))
    row, column = s.nonzero()
    band = np.zeros(s.shape[0])
    np.maximum.at(band, place[row], place[row] - place[column])
    return float((band**2).sum())


def _signs(vectors: Float[np.ndarray, "n k"]) -> Float[np.ndarray, " k"]:
    """Give the sign with which the cubes of each column sum to more than 0; of a symmetric one, its first entry's."""
    cubes = (vectors.astype(np.float64) ** 3).sum(0)
    size = (np.abs(vectors.astype(np.float64)) ** 3).sum(0)
    even = np.abs(cubes) <= 1e-4 * size
    large = np.abs(vectors) > 1e-3 * np.abs(vectors).max(0, initial=0)
    leading = np.take_along_axis(vectors, large.argmax(0)[None], 0)[0] if len(vectors) else cubes
    return np.where(np.where(even, leading, cubes) < 0, -1.0, 1.0)


def random_walk(index: Index, bounds: Bounds, steps: int) -> Float[np.ndarray, "n k"]:
    """Give the probability that a walk along the edges is back after 1, 2, … steps: arXiv:2110.07875.

    A walk goes from source to target, along each edge from a node with equal probability; where no edge leads on, it
    ends. Exact, for which each graph takes its edges times its nodes.

    Args:
        index: edges, none of them between graphs.
        bounds: of the graphs.
        steps: how many.

    Raises:
        ConfigError: If that would take too long.
    """
    from scipy.sparse import coo_array

    nodes, longest = bounds[-1], int(np.diff(bounds).max(initial=0))
    if float(index.shape[1]) * longest * steps > MOST:
        raise ConfigError(
            f"position='random-walk' of a graph of {longest:,} nodes takes {index.shape[1]:,} edges times its nodes "
            f"times {steps} steps, more than {MOST:.0e}: position='degree' and 'none' have no limit"
        )
    source, target = index
    leaving = np.bincount(source, minlength=nodes).astype(np.float32)
    share = 1 / leaving[source]
    p = coo_array((share, (source, target)), shape=(nodes, nodes)).tocsr()
    begins = np.repeat(np.asarray(bounds)[:-1], np.diff(bounds))
    place = np.arange(nodes) - begins
    found = np.zeros((nodes, steps), dtype=np.float32)
    width = max(1, min(longest, NUMBERS // max(nodes, 1)))
    for first in range(0, longest, width):
        own = np.flatnonzero((place >= first) & (place < first + width))
        state = np.zeros((nodes, min(width, longest - first)), dtype=np.float32)
        state[own, place[own] - first] = 1
        for step in range(steps):
            state = p @ state
            found[own, step] = state[own, place[own] - first]
    return found
