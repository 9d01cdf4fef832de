"""Published datasets, read from local files: Cora, Citeseer and Pubmed, PPI, ZINC, read by PyTorch Geometric.

Nothing is downloaded. Some of these files are Python pickles, as they were published: they run what is in them.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from zoo import DataError, ModelSpec
from zoo.core import IGNORED
from zoo.data import DatasetInfo, fingerprint
from zoo.plugins.graph.data.corpus import GraphsCorpus, GraphTask
from zoo.plugins.graph.data.examples import Example
from zoo.plugins.graph.requirements import import_pyg
from zoo.plugins.graph.structure.graph_inputs import GraphInputs

CITATIONS = {"cora": "Cora", "citeseer": "CiteSeer", "pubmed": "PubMed"}
"""Names of the files, and of PyTorch Geometric's folders."""
CITATION_FILES = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
PPI_FILES = tuple(
    f"{split}_{name}" for split in ("train", "valid", "test")
    for name in ("feats.npy", "graph_id.npy", "graph.json", "labels.npy")
)  # fmt: skip
ZINC_FILES = tuple(f"{split}.{ending}" for split in ("train", "val", "test") for ending in ("pickle", "index"))
ATOMS, BONDS = 28, 4
"""Categories of ZINC's atoms and bonds."""
PARTS = {"train": "train", "validation": "val", "test": "test"}


def open_planetoid(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> GraphsCorpus:
    """Open a graph of citations with the split of arXiv:1603.08861: 20 labels of each class, 500 and 1,000 nodes.

    Each node's words sum to 1, as in arXiv:1609.02907 sec. 5.2.

    Args:
        argument: `cora`, `citeseer` or `pubmed`, a colon, and the folder with `ind.cora.x` and the like, or the one
            that was `root` of PyTorch Geometric's Planetoid.
        spec: of the model.
        seed: changes nothing here.
        tokenizer: none, there is no text.

    Raises:
        DataError: If there is no such name, or a file is not there or cannot be read.
    """
    import_pyg()
    from torch_geometric.io import read_planetoid_data

    name, _, place = argument.partition(":")
    if name not in CITATIONS:
        raise DataError(f"planetoid:{argument}: write planetoid:NAME:DIR, where NAME is one of {', '.join(CITATIONS)}")
    root = Path(place).expanduser()
    files = [f"ind.{name}.{ending}" for ending in CITATION_FILES]
    folder = _folder(f"planetoid:{argument}", [root, root / "raw", root / CITATIONS[name] / "raw"], files)
    data: Any = _opened(lambda: read_planetoid_data(str(folder), name), folder)
    x = data.x / data.x.sum(1, keepdim=True).clamp(min=1)
    graph = GraphInputs(x, data.edge_index)
    masks = {"train": data.train_mask, "validation": data.val_mask, "test": data.test_mask}
    parts = {part: [Example(graph, data.y.where(mask, IGNORED))] for part, mask in masks.items()}
    labels = [f"class {place}" for place in range(int(data.y.max()) + 1)]
    counts = [int(mask.sum()) for mask in masks.values()]
    described = (
        f"{CITATIONS[name]}: {len(x):,} papers, {data.edge_index.shape[1]:,} citations in both directions; "
        f"{counts[0]:,} labels to train on, {counts[1]:,} for validation, {counts[2]:,} for test."
    )
    about = DatasetInfo(
        name, described, fingerprint([name, str(x.shape), str(data.edge_index.sum()), str(data.y.tolist())])
    )
    return GraphsCorpus(about, spec, GraphTask("tag", "class", labels, x.shape[1]), parts)


def open_ppi(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> GraphsCorpus:
    """Open graphs of proteins, each with any of the labels: those tested are never seen in training.

    Args:
        argument: the folder that is `root` of PyTorch Geometric's PPI, with the files in `raw`.
        spec: of the model.
        seed: changes nothing here.
        tokenizer: none, there is no text.

    Raises:
        DataError: If a file is not there or cannot be read.
    """
    import_pyg()
    from torch_geometric.datasets import PPI

    root = Path(argument).expanduser()
    _folder(f"ppi:{argument}", [root / "raw"], PPI_FILES)
    read = {part: _opened(partial(PPI, str(root), split), root) for part, split in PARTS.items()}
    parts = {part: [Example(GraphInputs(d.x, d.edge_index), d.y) for d in graphs] for part, graphs in read.items()}
    first = parts["train"][0]
    labels = [f"label {place}" for place in range(first.target.shape[1])]
    graph_task = GraphTask("tag", "labels", labels, first.graph.x.shape[1], metric="f1")
    return GraphsCorpus(_about("ppi", "graphs of proteins", parts), spec, graph_task, parts)


def open_zinc(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> GraphsCorpus:
    """Open the 12,000 molecules of arXiv:2003.00982 sec. 4, or all of ZINC's, to predict their solubility.

    Args:
        argument: the folder that is `root` of PyTorch Geometric's ZINC, with the files in `raw`.
        spec: of the model.
        seed: changes nothing here.
        tokenizer: none, there is no text.

    Raises:
        DataError: If a file is not there or cannot be read.
    """
    import_pyg()
    from torch_geometric.datasets import ZINC

    root = Path(argument).expanduser()
    _folder(f"zinc:{argument}", [root / "raw"], ZINC_FILES)
    read = {part: _opened(partial(ZINC, str(root), True, split), root) for part, split in PARTS.items()}
    parts = {
        part: [Example(GraphInputs(d.x, d.edge_index, d.edge_attr[:, None]), d.y.reshape(1)) for d in graphs]
        for part, graphs in read.items()
    }
    graph_task = GraphTask("classify", "numbers", ["penalised logP"], [ATOMS], [BONDS], "-mae", {"pool": "sum"})
    return GraphsCorpus(_about("zinc", "molecules", parts), spec, graph_task, parts)


def _folder(source: str, places: Sequence[Path], files: Sequence[str]) -> Path:
    """Find the folder that holds files; nothing is downloaded.

    Raises:
        DataError: If none holds all.
    """
    for place in places:
        if all((place / file).is_file() for file in files):
            return place
    missing = [file for file in files if not (places[-1] / file).is_file()]
    raise DataError(f"{source}: {str(places[-1])!r} has no {', '.join(missing)}: put the published files there")


def _opened(read: Callable[[], Any], folder: Path) -> Any:
    try:
        return read()
    except Exception as error:  # of many kinds, from pickle, NumPy and PyTorch Geometric
        raise DataError(f"{str(folder)!r} cannot be read: {type(error).__name__}: {error}") from error


def _about(name: str, what: str, parts: dict[str, list[Example]]) -> DatasetInfo:
    counts = {part: len(examples) for part, examples in parts.items()}
    shapes = (f"{tuple(each.graph.edge_index.shape)} {float(each.target.sum())}" for p in parts.values() for each in p)
    return DatasetInfo(name, f"{sum(counts.values()):,} {what}: {counts}.", fingerprint([name, *shapes]))
