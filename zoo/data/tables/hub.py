"""The source `hf:NAME[:CONFIG]`: a data set of the Hugging Face hub, or a local folder that `datasets` reads."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zoo.data.cache import cache_folder
from zoo.data.splits import fingerprint
from zoo.data.tables.files import NAMES, signature
from zoo.data.tables.open_files import errors_of_datasets, flat, read_schema, split_options
from zoo.data.tables.table import PARTS, Table
from zoo.errors import DataError


def open_hf(argument: str, seed: int) -> Table:
    """Open a data set by its name on the hub, or a folder: Arrow files in the cache, memory-mapped, never streamed.

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
        _check_class_order(name, {str(split): paths for split, paths in (builder.config.data_files or {}).items()})
        builder.download_and_prepare()
        names = _chosen(name, options, list(builder.info.splits or ()))
        return {part: flat(builder.as_dataset(split=split)) for part, split in names.items()}


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


def _check_class_order(name: str, files: Mapping[str, Any]) -> None:
    """Check that Parquet files have their classes in one order: `datasets` takes that of the first for all.

    Raises:
        DataError: If they have not.
    """
    orders: dict[str, Any] = {}
    for split, paths in files.items():
        for path in (each for each in paths if each.endswith(".parquet") and Path(each).is_file()):
            for column, names in read_schema(Path(path))[1].items():
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
