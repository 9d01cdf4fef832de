"""The sources `parquet:GLOB`, `jsonl:GLOB` and `csv:GLOB`: files become Arrow files in the cache, once."""

import csv
import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from zoo.data.cache import cache_folder, cached_file
from zoo.data.progress import shown
from zoo.data.tables.sources.files import common_root, locate_files, signature
from zoo.data.tables.sources.split_column import split_by_column
from zoo.data.tables.table import Table
from zoo.errors import DataError, ZooError
from zoo.names import counted

_VERSION = "1"
_ROWS = 10_000
"""Rows of a CSV file that are written at once."""
_COMPRESSED = (".gz", ".zst", ".bz2")


def open_parquet(argument: str, seed: int) -> Table:
    """Open Parquet files.

    Raises:
        DataError: If one cannot be read, or has other columns than the first.
    """
    return _open("parquet", argument, _converted_by_datasets)


def open_jsonl(argument: str, seed: int) -> Table:
    """Open JSON lines, also compressed; an object in each line."""
    return _open("jsonl", argument, _converted_by_datasets)


def open_csv(argument: str, seed: int) -> Table:
    """Open tables with a header, also compressed: commas between columns, tabs where the file ends in .tsv.

    All cells are texts. `datasets` reads CSV by pandas, which fills rows that are too short and takes the label `NA`
    for none; pyarrow reads on where a quote is not closed. Python's own reader is told to be strict.
    """
    return _open("csv", argument, _converted_csv)


def split_options(argument: str) -> tuple[str, dict[str, str]]:
    """Part `PLACE?key=value&key=value` into the place and its options."""
    place, _, query = argument.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    if query and not options:
        raise DataError(f"{argument!r}: ?{query} is not understood; options are written ?name=value&name=value")
    return place, options


def _open(source: str, argument: str, convert: Any) -> Table:
    place, options = split_options(argument)
    files = locate_files(source, place, options)
    key, name, root = signature(files, source, _VERSION), f"{source}:{place}", common_root(files)
    own = {option: value for option, value in options.items() if option not in ("validation", "test")}
    told = signature(files, *map(repr, sorted(own.items())))
    sections = {part: convert(name, source, paths, part, f"tables/{key}") for part, paths in files.items()}
    if column := own.pop("split", ""):
        parted = split_by_column(name, sections, column, f"tables/{key}")
        files = {part: (path,) for part, path in parted.items()}
        sections = {part: _mapped(path) for part, path in parted.items()}
    return Table(name, sections, told, root, files, own)


def _mapped(path: Path) -> Any:
    import datasets

    return datasets.Dataset.from_file(str(path))


def _converted_by_datasets(name: str, source: str, paths: Sequence[Path], part: str, key: str) -> Any:
    import datasets

    if source == "parquet":
        check_same_columns(name, [(path, *read_schema(path)) for path in paths])
    builder = {"parquet": "parquet", "jsonl": "json"}[source]
    folder = str(cache_folder() / key / part)
    with errors_of_datasets(name):
        rows = datasets.load_dataset(builder, data_files=list(map(str, paths)), split="train", cache_dir=folder)
    return flat(rows)


def flat(rows: Any) -> Any:
    """Make columns of the entries of structures, such as `translation.en`; pictures and sounds stay whole."""
    import datasets

    nested = [set(feature) for feature in rows.features.values() if isinstance(feature, dict)]
    nested += [set(each.languages) for each in rows.features.values() if isinstance(each, datasets.Translation)]
    return rows.flatten() if nested and not any({"bytes", "path"} & keys for keys in nested) else rows


def read_schema(path: Path) -> tuple[list[str], Any]:
    """Give the columns of a Parquet file, and the names of the classes among them."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        schema = parquet.read_schema(path)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{str(path)!r} cannot be read: {error}") from error
    features = json.loads((schema.metadata or {}).get(b"huggingface", b"{}")).get("info", {}).get("features", {})
    classes = {name: each["names"] for name, each in features.items() if "names" in each}
    return schema.names, classes


def check_same_columns(name: str, found: Sequence[tuple[Path, list[str], Mapping[str, Any]]]) -> None:
    """Check that all shards have the columns of the first, and the classes in its order.

    Raises:
        DataError: If one has not.
    """
    first, columns, classes = found[0]
    for path, own, names in found[1:]:
        if set(own) != set(columns):
            raise DataError(
                f"{name}: {str(path)!r} has columns {', '.join(own)}, and {str(first)!r} {', '.join(columns)}: shards "
                "of one part have the same"
            )
        if names != classes:
            raise DataError(f"{name}: {str(path)!r} has its classes in another order than {str(first)!r}: {names}")


def _converted_csv(name: str, source: str, paths: Sequence[Path], part: str, key: str) -> Any:
    return _mapped(cached_file(f"{key}/{part}.arrow", lambda scratch: _write_csv(name, paths, scratch)))


def _write_csv(name: str, paths: Sequence[Path], scratch: Path) -> None:
    import pyarrow as pa

    first: list[str] = []
    with ExitStack() as opened:
        for path in shown(paths, len(paths), f"reading {name}"):
            rows = _csv_rows(path)
            header = next(rows, [])
            if len(set(header)) < len(header) or not header:
                raise DataError(f"{str(path)!r} has no header of different names: its first line is {header}")
            if not first:
                first, schema = header, pa.schema([(column, pa.large_string()) for column in header])
                writer = opened.enter_context(pa.ipc.new_stream(str(scratch), schema))
            check_same_columns(name, [(paths[0], first, {}), (path, header, {})])
            while batch := list(islice(rows, _ROWS)):
                columns = dict(zip(header, zip(*batch, strict=True), strict=True))
                writer.write_table(pa.table([pa.array(columns[column], pa.large_string()) for column in first], schema))


def _csv_rows(path: Path) -> Iterator[list[str]]:
    """Read the rows of a table, the header first.

    Raises:
        DataError: If a row has more or fewer cells than the header, or a quote is not closed; the text names the line.
    """
    import pyarrow as pa

    plain = path.with_suffix("") if path.suffix.lower() in _COMPRESSED else path
    start, columns = 1, 0
    try:
        with pa.input_stream(str(path), compression="detect") as opened:
            text = io.TextIOWrapper(opened, "utf-8-sig", newline="")
            reader = csv.reader(text, delimiter="\t" if plain.suffix.lower() == ".tsv" else ",", strict=True)
            for row in reader:
                columns = columns or len(row)
                if row and len(row) != columns:
                    raise DataError(f"{path}:{start}: the row has {counted(len(row), 'cell')}, the header {columns}")
                if row:
                    yield row
                start = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"{path}:{start}: {error}, in the row that begins here: is a quote not closed?") from error
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{str(path)!r} cannot be read: {error}") from error


@contextmanager
def errors_of_datasets(name: str) -> Iterator[None]:
    """Turn errors of `datasets` into ours, and show its progress only in a terminal."""
    import datasets
    import pyarrow as pa

    shows = datasets.is_progress_bar_enabled() and not sys.stderr.isatty()
    if shows:
        datasets.disable_progress_bars()
    try:
        yield
    except ZooError:
        raise
    except (datasets.exceptions.DatasetsError, pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{name} cannot be read: {str(error.__cause__ or error).strip()}") from error
    finally:
        if shows:
            datasets.enable_progress_bars()
