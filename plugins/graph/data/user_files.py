"""The user's own graphs for `zoo train`: lines of JSON, or a table of SMILES and targets, of any number."""

import hashlib
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo import DataError, ModelSpec
from zoo.data import (
    DatasetInfo,
    LineColumns,
    Skipped,
    by_hash,
    fingerprint,
    for_training,
    hash_names,
    list_skipped,
    parse,
)
from zoo.plugins.graph.data.corpus import GraphsCorpus, GraphTask
from zoo.plugins.graph.data.examples import StoredExamples
from zoo.plugins.graph.data.storage.graph_file import GraphFile
from zoo.plugins.graph.data.storage.graph_files import LinesFile, TableFile
from zoo.plugins.graph.data.storage.graph_store import GraphStore
from zoo.plugins.graph.data.storage.targets import Targets, targets_of
from zoo.plugins.graph.data.trained_labels import check_trained
from zoo.plugins.graph.sources import MOLECULES

COMMAS = {".csv": ",", ".tsv": "\t"}
MANIFEST = "graphs.jsonl"
SPLITS = ("scaffold", "random")
_ACYCLIC = hash_names([b""])[0]
Places = dict[str, NDArray[np.int64]]
Given = Callable[[int], str]


def open_graphs(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> GraphsCorpus:
    """Open a `.jsonl` of graphs, a `.csv` or `.tsv` of SMILES, all also as `.gz`, or a folder with a graphs.jsonl.

    The graphs are read once, in parallel, into memory-mapped arrays in the cache. What cannot be read is left out, with
    one warning that counts and names it.

    Args:
        argument: the file; `?target=COLUMN` names columns of a table, separated by commas, and `split=random` parts
            molecules one by one instead of by scaffolds.
        spec: of the model.
        seed: of the split.
        tokenizer: none, there is no text.

    Raises:
        DataError: If nothing is left, or the rows do not fit each other.
        MissingLibraryError: If there are molecules and RDKit is not installed.
    """
    place, options = parse(argument, ("target", "split"))
    path = Path(place).expanduser()
    path = path / MANIFEST if path.is_dir() else path
    split = options.get("split", SPLITS[0])
    if split not in SPLITS:
        raise DataError(f"graphs:{argument}: split={split!r} is not one of {', '.join(SPLITS)}")
    ending = (path.with_suffix("") if path.suffix == ".gz" else path).suffix
    if ending not in (".jsonl", *COMMAS):
        raise DataError(f"graphs:{argument}: {path.suffix!r} is none of .jsonl, .csv, .tsv, and no pickle is opened")
    if ending == ".jsonl":
        return corpus_of(path.name, LinesFile(path), [], [], "random", spec, seed)
    wanted = [column for column in options.get("target", "").split(",") if column]
    table = TableFile(path, COMMAS[ending])
    if not table.columns or any(column not in table.columns for column in wanted):
        missing = f"and not all of target={','.join(wanted)}" if wanted else "and no target beside the SMILES"
        raise DataError(f"{path.name} has columns {', '.join(table.header)}, {missing}")
    corpus = corpus_of(path.name, table, table.columns, wanted, split, spec, seed)
    corpus.columns = LineColumns({part: _lines(path, some) for part, some in corpus.parts.items()})
    return corpus


def _lines(path: Path, part: Any) -> list[tuple[Path, int]]:
    """Give the line of each molecule."""
    return [(path, number) for number in part.store.arrays["lines"][part.places].tolist()]


def corpus_of(
    name: str,
    file: GraphFile,
    columns: list[str],
    wanted: list[str],
    split: str,
    spec: ModelSpec,
    seed: int,
    given: Given | None = None,
    one_by_one: str = "graphs:FILE?split=random",
) -> GraphsCorpus:
    """Make a corpus of a file of graphs.

    Args:
        name: of the data.
        file: of the graphs.
        columns: besides the SMILES; none of lines of JSON.
        wanted: those of the targets; all if empty.
        split: `scaffold` or `random`.
        spec: of the model.
        seed: of the split.
        given: tells the part of a graph by the number of its line; None where parts are drawn.
        one_by_one: what is written for the split `random`, for errors.

    Raises:
        DataError: If nothing is left, or the rows do not fit each other.
    """
    store = file.opened()
    _tell(name, store)
    targets = targets_of(store, name, columns, wanted)
    _tell(name, store, targets)
    parts = _given(store, targets, name, given)
    draw: Callable[..., Places] = partial(_by_scaffold, one_by_one) if split == "scaffold" else _one_by_one
    missing = [part for part in ("validation", "test") if part not in parts]
    places = parts | (draw(store, targets, parts["train"], missing, seed, name) if missing else {})
    nodes, edges = (kinds[0] if kinds else 0 for kinds in store.about["widths"])
    features = MOLECULES if columns else {"node_features": nodes, "edge_features": edges}
    graph_task = GraphTask("classify", targets.kind, targets.labels, **features)
    examples = {part: StoredExamples(store, places[part], targets.values) for part in ("train", "validation", "test")}
    count = len(targets.good)
    about = DatasetInfo(
        name, f"`{name}` holds {count:,} graphs.", fingerprint(_pieces(store, targets, split, seed, parts))
    )
    return GraphsCorpus(about, spec, graph_task, examples)


def _given(store: GraphStore, targets: Targets, name: str, given: Given | None) -> Places:
    if given is None:
        return {"train": targets.good}
    of = np.array([given(line) for line in store.arrays["lines"][targets.good].tolist()])
    parts = {part: targets.good[of == part] for part in np.unique(of).tolist()}
    if "train" not in parts:
        raise DataError(f"{name}: no graph that can be read is for training")
    if for_training() and targets.kind == "class":
        classes = {part: np.unique(targets.values.numpy()[places]).tolist() for part, places in parts.items()}
        check_trained({part: [targets.labels[each] for each in found] for part, found in classes.items()}, name)
    return parts


def _one_by_one(
    store: GraphStore, targets: Targets, pool: NDArray[np.int64], missing: list[str], seed: int, name: str
) -> Places:
    """Draw the part of each graph by its hash, so that it stays there whatever others come; equal ones stay together.

    Raises:
        DataError: If a part would be empty.
    """
    keys = store.arrays["keys"][pool]
    if (different := len(np.unique(keys))) <= len(missing) and for_training():
        needed = ", ".join(["training", *missing[:-1]])
        raise DataError(
            f"{name} has {len(pool)} examples, of which {different} differ; {needed} and {missing[-1]} need one each"
        )
    classes = targets.values.numpy()[pool] if targets.kind == "class" else None
    return {part: pool[places] for part, places in by_hash(keys, seed, classes, missing).items()}


def _by_scaffold(
    one_by_one: str,
    store: GraphStore,
    targets: Targets,
    pool: NDArray[np.int64],
    missing: list[str],
    seed: int,
    name: str,
) -> Places:
    """Draw the part of each scaffold by its hash: none is tested that was trained on, as arXiv:1703.00564 sec. 3.2.

    Other than there, which scaffolds are trained on does not depend on how many molecules they have, so that a growing
    data set keeps its test set. Molecules without rings have no scaffold, and are trained on.

    Raises:
        DataError: If a part would be empty.
    """
    groups = store.arrays["groups"][pool]
    rings = groups != _ACYCLIC
    ringed, free = pool[rings], pool[~rings]
    parts = {part: ringed[places] for part, places in by_hash(groups[rings], seed, None, missing).items()}
    parts["train"] = np.sort(np.concatenate([parts["train"], free]))
    if for_training() and not all(len(places) for places in parts.values()):
        scaffolds = len(np.unique(groups[rings]))
        raise DataError(
            f"{name}: {len(pool)} molecules with {scaffolds} different scaffolds (ring systems) cannot be parted into "
            f"training, validation and test with scaffolds of their own: {one_by_one} parts them molecule by molecule"
        )
    return parts


def _pieces(store: GraphStore, targets: Targets, split: str, seed: int, given: Places) -> Iterator[str]:
    """Give what the data follow from: graphs, targets, and how they are split."""
    yield from (str(seed), split, targets.kind, *targets.labels)
    further = given.values() if len(given) > 1 else ()
    for array in (store.arrays["keys"], targets.good, targets.values.numpy(), *further):
        yield hashlib.blake2b(np.ascontiguousarray(array).data.cast("B")).hexdigest()


def _tell(name: str, store: GraphStore, targets: Targets | None = None) -> None:
    """Tell what is left out.

    Raises:
        DataError: If nothing is left.
    """
    skipped = [Skipped(*each) for each in store.about["named"]] + (targets.skipped if targets else [])
    left = len(targets.good if targets else store)
    told = list_skipped(skipped, store.about["rows"], "graphs", store.about["rows"] - left)
    if not left:
        raise DataError(f"{name}: no graph can be read. {told}")
    if targets and skipped:
        warnings.warn(told, stacklevel=4)
