"""What a program gives as data: recognised as a `Table` of named columns, or as `Pairs`, and made a corpus."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch.utils.data import Dataset

from zoo.data.cache import cache_folder
from zoo.data.corpus import Corpus
from zoo.data.purpose import for_training
from zoo.data.python.collated import collated_corpus
from zoo.data.python.pairs import Columns, Pairs, described_item, named_by_content
from zoo.data.splits import fingerprint
from zoo.data.tables.sources.files import NAMES
from zoo.data.tables.table import PARTS, Table
from zoo.errors import ConfigError, DataError
from zoo.registry import entry_loading
from zoo.registry.entry_loading import require
from zoo.registry.lookup import registry
from zoo.spec import ModelSpec, Requirement, SourceSpec

DATASETS = (Requirement(module="datasets", distribution="datasets", install="attention-zoo[data]"),)
NAME = "examples from Python"
_KNOWN = (
    "a list of pairs (input, target), a torch Dataset, a datasets.Dataset, arrays (X, y), a pandas frame, the name of "
    "a source, a path, or a corpus"
)


@dataclass(frozen=True)
class GivenData:
    """Data that a program gives, and the columns of their roles.

    Args:
        parts: the data of `train`, and of `validation` and `test`, None where these are drawn from it: lists of pairs,
            a `torch.utils.data.Dataset`, arrays `(X, y)`; or tables with named columns: a `datasets.Dataset`, a pandas
            frame; or for `train` all parts at once, a `datasets.DatasetDict` or a mapping of them.
        columns: the column of each role, such as `{"label": "species"}`, and other options of tables.
    """

    parts: Mapping[str, Any] = field(repr=False)
    columns: Mapping[str, str] = field(default_factory=dict)


def open_given(given: GivenData, spec: ModelSpec, seed: int = 0, tokenizer: str = "") -> Corpus:
    """Make a corpus for a model of data that a program gives.

    Args:
        given: the data.
        spec: of the model, with the overrides that were given.
        seed: of what is drawn.
        tokenizer: as for `open_corpus`.

    Raises:
        DataError: If a part is empty, items are no pairs where these are needed, or labels of validation or test are
            none of the training.
        ConfigError: If parts are of different kinds, or the model's modality reads none.
    """
    require("data from Python", DATASETS)
    parts = {part: _sized(value, part) for part, value in _spread(given.parts).items()}
    tables = {part: _as_table(value) for part, value in parts.items()}
    if all(rows is not None for rows in tables.values()):
        owner, adapter = _reader(spec, "tables", "a table")
        corpus: Corpus = entry_loading.load(owner, adapter)(_table(tables, given.columns), spec, seed, tokenizer)
        return corpus
    if any(rows is not None for rows in tables.values()):
        kinds = ", ".join(f"{part} is {described_item(value)}" for part, value in parts.items())
        raise ConfigError(f"{kinds}: give all parts as tables with named columns, or all as pairs")
    pairs = Pairs(NAME, {part: _items(value, part) for part, value in parts.items()}, given.columns)
    if not _find(spec, "pairs"):
        return collated_corpus(pairs, spec, seed)
    owner, opener = _reader(spec, "pairs", "pairs")
    corpus = entry_loading.load(owner, opener)(pairs, spec, seed, tokenizer)
    return corpus


def is_given(data: Any) -> bool:
    """Tell whether data are neither a name nor a corpus."""
    return not isinstance(data, str | Path) and not all(hasattr(data, part) for part in ("task", "epoch", "score"))


def _spread(given: Mapping[str, Any]) -> dict[str, Any]:
    """Take the parts of a mapping of parts that stands for the training data."""
    train = given["train"]
    if not isinstance(train, Mapping):
        return {part: given[part] for part in PARTS if given.get(part) is not None}
    known = {name: part for part, names in NAMES.items() for name in names}
    if "train" not in train or any(name not in known for name in train):
        raise ConfigError(
            f"train is {described_item(train)}: a mapping has parts {', '.join(PARTS)}, which are data each"
        )
    found = {known[name]: value for name, value in train.items()}
    found |= {part: given[part] for part in PARTS[1:] if given.get(part) is not None}
    return {part: found[part] for part in PARTS if part in found}


def _sized(value: Any, part: str) -> Any:
    """Give data with a length and places: of a stream, its items.

    Raises:
        ConfigError: If these are no data.
        DataError: If there are none.
    """
    if any(kind.__name__ == "DataLoader" for kind in type(value).__mro__):
        raise ConfigError(
            f"{part} is a DataLoader; batches are made of examples here: give what it loads, its .dataset"
        )
    if _is_one(value):
        value = [value]
    has_items = isinstance(value, Iterable) or hasattr(value, "__getitem__")
    if isinstance(value, str | bytes | Path) or not has_items:
        raise ConfigError(f"{part}={value!r} is no data: give {_KNOWN}")
    if not (hasattr(value, "__len__") and hasattr(value, "__getitem__")):
        value = list(value)
    if not len(_items(value, part)):
        if not for_training():
            raise DataError("data has no examples: give some to judge")
        hint = "" if part == "train" else f": leave it out, and {part} is drawn from train, or give it examples"
        raise DataError(f"{part} has no examples{hint}")
    return value


def _is_one(value: Any) -> bool:
    """Tell a single example, whose parts have names, such as a `Data` of PyG, from a table or several examples."""
    named = callable(getattr(value, "keys", None))
    return named and not isinstance(value, Mapping | Dataset) and _as_table(value) is None


def _as_table(value: Any) -> Any:
    """Give the rows of a data set of Hugging Face or of a frame; None of others. Imports neither library."""
    import datasets

    if isinstance(value, datasets.Dataset):
        return value
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(value, pandas.DataFrame):
        return datasets.Dataset.from_pandas(value, preserve_index=False)
    return None


def _table(rows: Mapping[str, Any], options: Mapping[str, str]) -> Table:
    """Make a table of data sets, each an Arrow file: its own, or one in the cache."""
    import datasets

    files = {part: (_file(each),) for part, each in rows.items()}
    sections = {part: datasets.Dataset.from_file(str(path)) for part, (path,) in files.items()}
    told = fingerprint([*(path.stem for (path,) in files.values()), repr(sorted(options.items()))])
    return Table(NAME, sections, told, Path.cwd(), files, options, from_python=True)


def _file(rows: Any) -> Path:
    """Write the rows into the cache, under a name that says what they hold."""
    return named_by_content(cache_folder() / "tables", lambda path: _write(rows.with_format(None), path), NAME)


def _write(rows: Any, path: Path) -> None:
    import pyarrow as pa

    with pa.ipc.new_stream(str(path), rows.features.arrow_schema) as file:
        for batch in rows.with_format("arrow").iter(1000):
            file.write_table(batch.cast(rows.features.arrow_schema))


def _items(value: Any, part: str) -> Any:
    """Give the items of a part: arrays (X, y) as pairs, others as they are."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        return value
    inputs, targets = value
    listed = isinstance(value, tuple) and isinstance(inputs, list)
    arrays = (_is_array(inputs) or listed) and (_is_array(targets) or isinstance(targets, list))
    return Columns(inputs, targets, part) if arrays else value


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and len(value.shape) > 0


def _reader(spec: ModelSpec, kind: str, what: str) -> tuple[SourceSpec, str]:
    owner = _find(spec, kind)
    if owner is None:
        raise ConfigError(f"no source of modality {spec.modality!r} reads {what}: give a corpus to '{spec.name}'")
    return owner, getattr(owner, kind)


def _find(spec: ModelSpec, kind: str) -> SourceSpec | None:
    """Find the source that reads tables or pairs for a model: one that names its task, else one that names none."""
    found = [each for each in registry().sources if each.modality == spec.modality and getattr(each, kind)]
    task = spec.config.get("task", spec.task)
    found.sort(key=lambda each: (task not in each.tasks, bool(each.tasks)))
    return found[0] if found else None
