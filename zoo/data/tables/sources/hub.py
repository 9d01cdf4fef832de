"""The source `hf:NAME[:CONFIG]`: a data set of the Hugging Face hub, or a local folder that `datasets` reads."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zoo.data.cache import cache_folder
from zoo.data.splits import fingerprint
from zoo.data.tables.sources.files import NAMES, signature
from zoo.data.tables.sources.open_files import check_same_columns, errors_of_datasets, flat, read_schema, split_options
from zoo.data.tables.sources.stream import WINDOW, TableStream
from zoo.data.tables.table import PARTS, Table
from zoo.errors import DataError


def open_hf(argument: str, seed: int) -> Table | TableStream:
    """Open a data set by its name on the hub, or a folder: Arrow files in the cache, memory-mapped.

    With `?streaming` it is not downloaded as a whole, but read window by window, of `buffer=` rows; `examples=` counts
    the rows for training where the data set does not.

    The split `train` is trained on, `validation`, `valid`, `val` or `dev` chooses the checkpoint, `test` tests;
    `?split=NAME`, `?validation=NAME` and `?test=NAME` name others, and slices such as `train[:10%]`.

    Raises:
        DataError: If it is not found, or has no such configuration or split.
    """
    place, options = split_options(argument)
    name = f"hf:{place}"
    local = Path(place).expanduser()
    path, _, config = (str(local), "", "") if local.is_dir() else place.partition(":")
    if not local.is_dir() and Path(path).expanduser().is_dir():
        local = Path(path).expanduser()
    if options.pop("streaming", "0") != "0":
        return _stream(name, str(local) if local.is_dir() else path, config or None, options, local)
    sections = _sections(name, str(local) if local.is_dir() else path, config or None, options, local)
    own = {option: value for option, value in options.items() if option not in ("split", "validation", "test")}
    content = [_content(rows, local) for rows in sections.values()]
    told = fingerprint([*content, *map(repr, sorted(options.items()))])
    files = {part: tuple(Path(each["filename"]) for each in rows.cache_files) for part, rows in sections.items()}
    return Table(name, sections, told, local if local.is_dir() else Path(), files, own)


def _sections(name: str, path: str, config: str | None, options: Mapping[str, str], local: Path) -> dict[str, Any]:
    import datasets

    cache = str(cache_folder() / "tables" / _files(local)) if local.is_dir() else None
    with errors_of_datasets(name):
        builder = datasets.load_dataset_builder(path, config, cache_dir=cache)
        _check_shards(name, {str(split): paths for split, paths in (builder.config.data_files or {}).items()})
        builder.download_and_prepare()
        names = _chosen(name, options, list(builder.info.splits or ()))
        return {part: flat(builder.as_dataset(split=split)) for part, split in names.items()}


def _stream(name: str, path: str, config: str | None, options: Mapping[str, str], local: Path) -> TableStream:
    import datasets

    with errors_of_datasets(name):
        builder = datasets.load_dataset_builder(path, config)
        files = {str(split): paths for split, paths in (builder.config.data_files or {}).items()}
        _check_shards(name, files)
        streams = {str(split): rows for split, rows in builder.as_streaming_dataset().items()}
        chosen = _chosen(name, options, list(streams))
        if sliced := [split for split in chosen.values() if "[" in split]:
            raise DataError(f"{name}: {sliced[0]!r} is a slice, and a stream has none: leave ?streaming away")
        parts = {part: _undecoded(streams[split]) for part, split in chosen.items()}
    told = _files(local) if local.is_dir() else f"{builder.config_id} {builder.hash}"
    own = {key: value for key, value in options.items() if key not in (*_OPTIONS, "split", "validation", "test")}
    numbers = {key: _number(name, key, options[key]) for key in _OPTIONS if key in options}
    split = (builder.info.splits or {}).get(chosen["train"])
    count = numbers.get("examples") or (split.num_examples if split else None)
    window = numbers.get("buffer", WINDOW)
    key = fingerprint([name, told, repr(sorted(chosen.items())), str(window), str(count)])
    return TableStream(name, parts, key, window, count, own)


_OPTIONS = ("buffer", "examples")


def _number(name: str, option: str, value: str) -> int:
    if not value.isdecimal() or not int(value):
        raise DataError(f"{name}: {option}={value!r} is no number of examples")
    return int(value)


def _undecoded(rows: Any) -> Any:
    """Give a stream whose pictures and sounds are bytes."""
    import datasets

    if rows.features is None:
        rows = rows._resolve_features()  # of JSON lines and CSV, from the first rows
    for column, feature in rows.features.items():
        if isinstance(feature, datasets.Image | datasets.Audio):
            rows = rows.cast_column(column, type(feature)(decode=False))
    return rows


def _chosen(name: str, options: Mapping[str, str], splits: list[str]) -> dict[str, str]:
    """Give the split of each part, as it is named or as it is usual."""
    told = {"train": "split", "validation": "validation", "test": "test"}
    chosen = {part: options[option] for part, option in told.items() if option in options}
    for part, split in chosen.items():
        if split.partition("[")[0] not in splits:
            raise DataError(f"{name}: there is no split {split!r} for {told[part]}; it has {', '.join(splits)}")
    taken = {split.partition("[")[0] for split in chosen.values()}
    for part in PARTS:
        usual = [split for known in NAMES[part] for split in splits if split == known and split not in taken]
        if part not in chosen and usual:
            chosen[part] = usual[0]
    if "train" not in chosen:
        if len(splits) > 1 or not splits:
            raise DataError(f"{name} has splits {', '.join(splits)}: write ?split=NAME for the one to learn from")
        chosen["train"] = splits[0]
    return {part: chosen[part] for part in PARTS if part in chosen}


def _check_shards(name: str, files: Mapping[str, Any]) -> None:
    """Check that Parquet files have their classes in one order, and those of a split one set of columns.

    `datasets` takes the order of the first for all, and fills columns that a file lacks.

    Raises:
        DataError: If they have not.
    """
    orders: dict[str, Any] = {}
    for split, paths in files.items():
        own = [Path(each) for each in paths if each.endswith(".parquet") and Path(each).is_file()]
        schemas = [(path, *read_schema(path)) for path in own]
        if schemas:
            check_same_columns(name, [(path, columns, {}) for path, columns, _ in schemas])
        for _, _, classes in schemas:
            for column, names in classes.items():
                if names != orders.setdefault(column, names):
                    raise DataError(
                        f"{name}: {split} has the classes of {column!r} in another order than other files ({names}, "
                        f"{orders[column]}), which `datasets` does not see: give the files as parquet:GLOB, where "
                        "classes are taken by name"
                    )


def _files(folder: Path) -> str:
    """Give the signature of all files of a folder."""
    found = sorted(
        Path(at) / file for at, _, files in os.walk(folder) for file in files if not file.startswith((".", "_"))
    )
    if not found:
        raise DataError(f"hf:{folder} is empty: it holds no files")
    return signature({"": found})


def _content(rows: Any, local: Path) -> str:
    """Identify rows by the files they are from: those of a folder, or the commit of a repository."""
    if local.is_dir():
        return f"{_files(local)} {rows.split}"
    folder = Path(rows.cache_files[0]["filename"]).parent
    return f"{'/'.join(folder.parts[-4:])} {rows.split}"
