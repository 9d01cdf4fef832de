"""Texts in a folder of each class: `train/pos/*.txt`, `train/neg/*.txt`, `test/...`, the layout of IMDb's reviews."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from zoo import DataError
from zoo.plugins.text.data.labelled_corpus import Labelled
from zoo.plugins.text.data.text_files import PARTS, ending, lines

UNLABELLED = ("unsup", "unlabelled", "unlabeled")
"""Folders whose texts have no label: IMDb's 50,000 of unsup."""


def class_folders(place: str) -> dict[str, tuple[Path, ...]]:
    """Find the texts of a folder whose folders are classes, or parts with classes; empty where it is none.

    Args:
        place: a folder with `train/`, and `val/` and `test/` where they are given, or with the classes alone.

    Raises:
        DataError: If there is a part for validation or test and none for training, or one without texts.
    """
    folder = Path(place).expanduser()
    if not folder.is_dir() or any(_is_table(path) for path in folder.iterdir()):
        return {}
    found: dict[str, tuple[Path, ...]] = {}
    for part, names in PARTS.items():
        files = tuple(file for name in names for file in _texts(folder / name))
        if files:
            found[part] = files
    if not found:
        classes = tuple(_texts(folder))
        return {"train": classes} if len({path.parent for path in classes}) > 1 else {}
    if "train" not in found:
        raise DataError(f"{folder} has folders {', '.join(found)} of texts by class, and none called train")
    for part, names in PARTS.items():
        if part not in found and any((folder / name).is_dir() for name in names):
            raise DataError(
                f"{folder}: {part} has no texts in a folder for each class: add some, or remove it, and it is drawn "
                "from train"
            )
    return found


def read_folder(paths: Sequence[Path]) -> Iterator[Labelled]:
    """Read each file as one text, whose label is the name of its folder.

    Raises:
        DataError: If a file is empty or no UTF-8.
    """
    for path in paths:
        text = "\n".join(line for _, line in lines(path)).strip()
        if not text:
            raise DataError(f"{path} is empty: write its text, or remove it")
        yield Labelled(text, path.parent.name, str(path))


def understood(files: Mapping[str, Sequence[Path]]) -> str:
    """Say which parts were found, and what is drawn from the training."""
    sizes = ", ".join(f"{part} {len(paths):,}" for part, paths in files.items())
    drawn = [part for part in PARTS if part not in files]
    return f"read as a folder for each class, {sizes}" + (f"; {' and '.join(drawn)} drawn from train" if drawn else "")


def _is_table(path: Path) -> bool:
    return path.is_file() and path.name.split(".")[0] in PARTS["train"]


def _texts(folder: Path) -> list[Path]:
    """Give the texts of the classes of a folder, in order."""
    if not folder.is_dir():
        return []
    classes = (each for each in sorted(folder.iterdir()) if each.is_dir() and each.name not in UNLABELLED)
    return [path for each in classes for path in sorted(each.iterdir()) if path.is_file() and ending(path) == ".txt"]
