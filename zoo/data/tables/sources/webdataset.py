"""The source `webdataset:GLOB`: an index of the members of tar shards, whose pictures and sounds stay in the shards.

`datasets` reads such shards too, but copies all they hold, and takes a shard that is cut for a shorter one.
"""

import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from zoo.data.cache import cached_file
from zoo.data.progress import shown
from zoo.data.tables.sources.files import common_root, locate_files, signature
from zoo.data.tables.sources.open_files import split_options
from zoo.data.tables.table import Table
from zoo.errors import DataError

_VERSION = "1"
_DECODED = ("txt", "text", "transcript", "cls", "index", "id", "json")
"""Endings of files that are small enough to be in the index."""
_BLOCK = 512
"""Bytes of a block of a tar file; one of zeros is its end."""


def open_webdataset(argument: str, seed: int) -> Table:
    """Open tar shards of examples: files with one name but for the endings, such as `000.jpg`, `000.cls`.

    Raises:
        DataError: If a shard is cut or compressed, or shards have different columns.
    """
    place, options = split_options(argument)
    files = locate_files("webdataset", place, options)
    root, key, name = common_root(files), signature(files, "webdataset", _VERSION), f"webdataset:{place}"
    sections = {part: _indexed(name, root, paths, f"tables/{key}/{part}.arrow") for part, paths in files.items()}
    own = {option: value for option, value in options.items() if option not in ("validation", "test")}
    return Table(name, sections, signature(files, *map(repr, sorted(own.items()))), root, files, own)


def _indexed(name: str, root: Path, paths: Sequence[Path], file: str) -> Any:
    import datasets

    written = cached_file(file, lambda scratch: _write(name, root, paths, scratch))
    return datasets.Dataset.from_file(str(written))


def _write(name: str, root: Path, paths: Sequence[Path], scratch: Path) -> None:
    import pyarrow as pa

    schema, writer = None, None
    try:
        for path in shown(paths, len(paths), f"indexing {name}"):
            table = _columns(list(_examples(path, root)))
            if schema is None or writer is None:
                schema = table.schema
                writer = pa.ipc.new_stream(str(scratch), schema)
            if set(table.column_names) != set(schema.names):
                raise DataError(
                    f"{name}: {str(path)!r} has {', '.join(table.column_names)}, and {str(paths[0])!r} "
                    f"{', '.join(schema.names)}: shards of one part have the same endings"
                )
            try:
                writer.write_table(table.select(schema.names).cast(schema))
            except pa.ArrowException as error:
                raise DataError(f"{name}: {str(path)!r} holds other types than {str(paths[0])!r}: {error}") from error
    finally:
        if writer is not None:
            writer.close()


def _columns(examples: Sequence[dict[str, Any]]) -> Any:
    import pyarrow as pa

    names = sorted({name for example in examples for name in example})
    return pa.table({name: pa.array([example.get(name) for example in examples]) for name in names})


def _examples(path: Path, root: Path) -> Iterator[dict[str, Any]]:
    """Group the members of a shard: texts and numbers as they are, others as their place in the shard."""
    from datasets.packaged_modules.webdataset.webdataset import base_plus_ext

    example: dict[str, Any] = {}
    for member, content in _members(path):
        key, column = base_plus_ext(member.name)
        if key is None:
            continue
        if example and example["__key__"] != key:
            yield example
            example = {}
        where = {
            "path": str(path.absolute().relative_to(root)),
            "name": member.name,
            "offset": member.offset_data,
            "size": member.size,
        }
        if isinstance(content, dict):
            example |= {f"{column}.{name}": value for name, value in content.items()}
        else:
            example[column] = where if content is None else content
        example["__key__"] = key
    if not example:
        raise DataError(f"{str(path)!r} holds no examples: files such as 000.jpg and 000.cls")
    yield example


def _members(path: Path) -> Iterator[tuple[tarfile.TarInfo, Any]]:
    """Give the files of a shard, each with what it says, where it is a text, a number or JSON.

    Raises:
        DataError: If the shard is cut, compressed or none.
    """
    from datasets.packaged_modules.webdataset.webdataset import WebDataset

    size = path.stat().st_size
    try:
        with tarfile.open(path, "r:") as shard:
            for member in shard:
                if member.offset_data + member.size > size:
                    break
                ending = member.name.rpartition(".")[2].lower()
                if member.isfile() and ending in _DECODED:
                    opened = shard.extractfile(member)
                    assert opened is not None
                    yield member, WebDataset.DECODERS[ending](opened.read())
                elif member.isfile():
                    yield member, None
            end = shard.offset
        with path.open("rb") as file:
            file.seek(end)
            whole = file.read(_BLOCK) == bytes(_BLOCK)
    except (tarfile.TarError, OSError, ValueError) as error:
        raise DataError(
            f"{str(path)!r} cannot be read: {error}; shards are whole tar files without compression"
        ) from error
    if not whole:
        raise DataError(f"{str(path)!r} is cut or broken after byte {end:,}: fetch or write it again")
