"""`GraphFile`: a file of the user's graphs, read once, in parallel, into a `GraphStore` of the cache."""

import gzip
import hashlib
import os
import shutil
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from zoo import DataError, InputError
from zoo.data import FEWER_PROCESSORS, Skipped, Workers, cached_folder, default_workers, hash_names, read_ahead, shown
from zoo.plugins.graph.data.storage.graph_store import GraphStore
from zoo.plugins.graph.data.storage.growing_arrays import GrowingArrays
from zoo.plugins.graph.structure.graph_inputs import GraphInputs

_VERSION = 1
_CHUNK = 256
"""Rows that a worker reads at a time."""
_DURABLE = 64
"""Chunks after which what was read is forced to the disk."""
_NAMED = 100
"""Rows that cannot be read of which it is kept why; the others are counted."""
Numbered = tuple[int, Any]
"""Line of the file, and what it holds."""


class StoredRow(NamedTuple):
    """A graph as it is stored.

    Args:
        graph: its tensors.
        key: what it is; graphs of equal keys are the same example.
        group: graphs that belong together; equal to the key where none do.
        text: what else belongs to it, such as its target.
    """

    graph: GraphInputs
    key: str
    group: str
    text: str


class Chunk(NamedTuple):
    """Some rows that were read.

    Args:
        rows: how many.
        arrays: of a `GraphStore`.
        skipped: what cannot be read.
        widths: numbers of features that nodes have, and edges.
    """

    rows: int
    arrays: dict[str, NDArray[Any]]
    skipped: list[Skipped]
    widths: tuple[set[int], set[int]]


class GraphFile(ABC):
    """A file of graphs, one for each row.

    Args:
        path: of the file.

    Raises:
        DataError: If there is none.
    """

    kinds: ClassVar[Mapping[str, DTypeLike]] = {"x": np.float32, "edges": np.int32, "edge_attr": np.float32}
    """Types in which features and ends of edges are stored."""
    edge_features: ClassVar[int] = 0
    """Features of edges, where no graph has an edge."""
    reader: str = ""
    """What decides, besides the file, how it is read, such as the version of a library."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stamp = self._stamp()

    @abstractmethod
    def rows(self) -> Iterator[Numbered]:
        """Give the rows, with the numbers of their lines."""

    @abstractmethod
    def read(self, row: Any) -> StoredRow:
        """Read a row.

        Raises:
            InputError: If it is no graph.
        """

    def opened(self) -> GraphStore:
        """Give the graphs; they are read if that was not done before, or the file has changed since.

        Raises:
            DataError: If the file or the cache cannot be used.
        """
        about = f"{_VERSION} {self.reader} {os.path.realpath(self.path)}"
        place = hashlib.blake2b(os.fsencode(about), digest_size=8).hexdigest()
        name = f"{place}-{hashlib.blake2b(repr(self.stamp).encode(), digest_size=8).hexdigest()}"
        folder = cached_folder(f"graphs/{name}", self._write)
        for old in folder.parent.glob(f"{place}-*"):
            if not old.name.startswith(name) and old.suffix != ".lock":
                shutil.rmtree(old) if old.is_dir() else old.unlink()
        return GraphStore.open(folder)

    def parse(self, *rows: Numbered) -> Chunk:
        """Read some rows, as a worker does."""
        good: list[tuple[int, StoredRow]] = []
        skipped = []
        for line, row in rows:
            try:
                good.append((line, self.read(row)))
            except InputError as error:
                skipped.append(Skipped(f"line {line}", str(error), line))
        widths = _widths([row.graph for _, row in good])
        alike = all(len(each) < 2 for each in widths)  # else `_add` refuses them
        return Chunk(len(rows), self._arrays(good) if alike else {}, skipped, widths)

    def _arrays(self, good: Sequence[tuple[int, StoredRow]]) -> dict[str, NDArray[Any]]:
        graphs = [row.graph for _, row in good]
        texts = [row.text.encode() for _, row in good]
        edges = [graph.edge_index.shape[1] for graph in graphs]
        x = [graph.x.numpy() for graph in graphs] or [np.zeros((0, 0))]
        ends = [graph.edge_index.T.numpy() for graph in graphs] or [np.zeros((0, 2))]
        attrs = [graph.edge_attr.numpy() for graph in graphs if graph.edge_attr is not None and len(graph.edge_attr)]
        flat = {
            "x": x,
            "edges": ends,
            "edge_attr": attrs or [np.zeros((sum(edges), 0 if sum(edges) else self.edge_features))],
        }
        return {
            **{name: np.concatenate(each).astype(self.kinds[name]) for name, each in flat.items()},
            "num_nodes": np.array([len(graph.x) for graph in graphs], np.int32),
            "num_edges": np.array(edges, np.int32),
            "keys": hash_names(row.key.encode() for _, row in good),
            "groups": hash_names(row.group.encode() for _, row in good),
            "lines": np.array([line for line, _ in good], np.int64),
            "text": np.frombuffer(b"".join(texts), np.uint8),
            "text_sizes": np.array([len(text) for text in texts], np.int32),
        }

    def _write(self, folder: Path) -> None:
        """Read the rows into a folder, from where that was interrupted."""
        arrays = GrowingArrays(folder)
        about: dict[str, Any] = {"rows": 0, "named": [], "widths": [[], []]} | arrays.about
        total, done = _count_lines(self.path), about["rows"]
        chunks = _chunks(islice(self.rows(), done, None))
        workers = default_workers(shared=False) if total - done > 2 * _CHUNK else 0
        try:
            with Workers(self, workers=workers, advice=FEWER_PROCESSORS):
                read = shown(read_ahead(self.parse, chunks), total - done, f"reading {self.path.name}", size=_rows)
                for number, chunk in enumerate(read, start=1):
                    arrays.append(chunk.arrays)
                    _add(about, chunk, self.path.name)
                    if number % _DURABLE == 0:
                        arrays.commit(about)
            if self._stamp() != self.stamp:
                raise DataError(f"{str(self.path)!r} was changed while it was read: open it again")
            arrays.commit(about)
        finally:
            arrays.close()

    def _stamp(self) -> tuple[int, int]:
        """Give size and time of change.

        Raises:
            DataError: If there is no such file.
        """
        try:
            state = self.path.stat()
        except OSError as error:
            raise DataError(f"{str(self.path)!r} cannot be read: {error}") from error
        return state.st_size, state.st_mtime_ns


def _chunks(rows: Iterator[Numbered]) -> Iterator[tuple[Numbered, ...]]:
    while chunk := tuple(islice(rows, _CHUNK)):
        yield chunk


def _rows(chunk: Chunk) -> int:
    return chunk.rows


def _add(about: dict[str, Any], chunk: Chunk, name: str) -> None:
    """Add a chunk to what belongs to the arrays.

    Raises:
        DataError: If its graphs have other numbers of features than those before.
    """
    about["rows"] += chunk.rows
    about["named"] += chunk.skipped[: _NAMED - len(about["named"])]
    nodes, edges = (sorted({*before, *now}) for before, now in zip(about["widths"], chunk.widths, strict=True))
    if len(nodes) > 1 or len(edges) > 1:
        raise DataError(f"{name}: nodes have {nodes} features, edges {edges or [0]}: give all graphs as many")
    about["widths"] = [nodes, edges]


def _widths(graphs: Iterable[GraphInputs]) -> tuple[set[int], set[int]]:
    """Give the numbers of features of nodes and of edges; a graph without edges says nothing of those."""
    nodes, edges = set(), set()
    for graph in graphs:
        nodes.add(graph.x.shape[1])
        if graph.edge_index.numel():
            edges.add(0 if graph.edge_attr is None else graph.edge_attr.shape[1])
    return nodes, edges


def _count_lines(path: Path) -> int:
    try:
        with (gzip.open if path.suffix.lower() == ".gz" else open)(path, "rb") as file:
            return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{str(path)!r} cannot be read: {error}") from error
