"""Captions of the user's pictures: COCO's JSON, its splits by Karpathy, tables of path and text, Flickr's token files.

captions_train2017.json   {"images": [{"id", "file_name"}], "annotations": [{"image_id", "caption"}]}
dataset_coco.json         {"images": [{"filename", "filepath", "split", "sentences": [{"raw"}]}]}
NAME.tsv                  path<TAB>text; a picture with several captions has several lines
NAME.token                name.jpg#0<TAB>text, as Flickr8k and Flickr30k have it
captions.txt              image,caption: a table with a header
"""

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from zoo import DataError

_PARTS = {"train": "train", "restval": "train", "val": "validation", "validation": "validation", "test": "test"}
"""Parts by their names in Karpathy's files."""
_HEADER = ("image", "caption")
ENDINGS = (".json", ".tsv", ".csv", ".txt", ".token")


class FileCaption(NamedTuple):
    """A caption of a file.

    Args:
        picture: path, as the file has it; or what is said of a picture that the file does not list.
        text: the caption.
        place: line or entry.
        part: `train`, `validation` or `test`, where the file says so; else empty.
        listed: whether the file says where the picture is.
    """

    picture: str
    text: str
    place: str
    part: str = ""
    listed: bool = True


def read_captions(path: Path) -> list[FileCaption]:
    """Read captions of a file, by its ending and what it holds.

    Raises:
        DataError: If it is none of those there are, holds none, or a line lacks something; the text names the line.
    """
    if not path.is_file():
        raise DataError(f"captions: there is no file {str(path)!r}")
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise DataError(f"{path}: captions are in a file that ends in one of {', '.join(ENDINGS)}, not {ending!r}")
    try:
        found = list(_json(path) if ending == ".json" else _lines(path, ending))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    if not found:
        raise DataError(f"{path} is empty: it has no captions")
    return [each._replace(text=" ".join(each.text.split())) for each in found]


def _json(path: Path) -> Iterator[FileCaption]:
    try:
        held = json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise DataError(f"{path} is no JSON: {error}") from error
    images = held.get("images") if isinstance(held, dict) else None
    if not isinstance(images, list) or not all(isinstance(each, dict) for each in images):
        raise DataError(f"{path}: no list 'images' as in COCO's captions_train2017.json or dataset_coco.json")
    if "annotations" in held:
        return _coco(path, images, held["annotations"])
    return _splits(path, images)


def _coco(path: Path, images: list[dict[str, Any]], annotations: list[dict[str, Any]]) -> Iterator[FileCaption]:
    names = {_key(each, "id", path, "images", at): _key(each, "file_name", path, "images", at)
             for at, each in enumerate(images)}  # fmt: skip
    for at, each in enumerate(annotations):
        place = f"{path}: annotations[{at}]"
        picture, text = (_key(each, key, path, "annotations", at) for key in ("image_id", "caption"))
        known = picture in names
        yield FileCaption(str(names[picture]) if known else f"image_id {picture}", str(text), place, listed=known)


def _splits(path: Path, images: list[dict[str, Any]]) -> Iterator[FileCaption]:
    for at, each in enumerate(images):
        name = str(_key(each, "filename", path, "images", at))
        folder = each.get("filepath", "")
        part = _PARTS.get(each.get("split", ""), "")
        if each.get("split") and not part:
            raise DataError(f"{path}: images[{at}]: split={each['split']!r} is not one of {', '.join(_PARTS)}")
        for sentence in _key(each, "sentences", path, "images", at):
            text = str(_key(sentence, "raw", path, "sentences of images", at))
            yield FileCaption(f"{folder}/{name}" if folder else name, text, f"{path}: images[{at}]", part)


def _key(entry: Mapping[str, Any], key: str, path: Path, where: str, at: int) -> Any:
    if not isinstance(entry, Mapping) or key not in entry:
        raise DataError(f"{path}: {where}[{at}] has no {key!r}")
    return entry[key]


def _lines(path: Path, ending: str) -> Iterator[FileCaption]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = next(csv.reader([file.readline()]), [])
        file.seek(0)
        if tuple(cell.strip().lower() for cell in first) == _HEADER:
            yield from _table(path, file)
            return
        for number, line in enumerate(file, 1):
            if line.strip():
                yield _line(line.rstrip("\r\n"), f"{path}:{number}", ending)


def _table(path: Path, file: Any) -> Iterator[FileCaption]:
    rows = csv.reader(file)
    next(rows)
    for row in filter(None, rows):
        if len(row) != len(_HEADER):
            raise DataError(f"{path}:{rows.line_num}: {len(row)} columns, not image,caption")
        yield FileCaption(row[0].strip(), row[1], f"{path}:{rows.line_num}")


def _line(line: str, place: str, ending: str) -> FileCaption:
    picture, tab, text = line.partition("\t")
    if not tab:
        raise DataError(f"{place}: no tab between the picture and its caption in {line[:40]!r}")
    name, mark, number = picture.strip().rpartition("#")
    if ending != ".tsv" and not (mark and number.isdigit()):
        raise DataError(f"{place}: {picture!r} does not end in #0, #1, … as in Flickr's token files")
    return FileCaption(name if ending != ".tsv" else picture.strip(), text, place)
