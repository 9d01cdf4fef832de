"""`FolderIndex`: which pictures a folder has, memory-mapped from the cache, so that processes share it.

The file of an index is named by its fingerprint: a folder that changes has another one.
"""

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from zoo import DataError
from zoo.data import Columns, by_hash, cache_folder, cached_file, for_training, hash_names, mix
from zoo.plugins.vision.data.folders.folder_listing import (
    PARTS,
    ClassFolder,
    Listed,
    list_classes,
    list_pictures,
    shown_name,
)
from zoo.plugins.vision.read_image import listed

HELD_OUT = 0.15
"""Share of the pictures in validation, and in test, where the folder does not say."""
_VERSION = 1
_GIVEN = ("", *PARTS)


@dataclass(frozen=True, eq=False)
class FolderIndex:
    """Paths, classes, sizes and times of the pictures of a folder, as arrays; n pictures, ordered by part, class, name.

    Args:
        root: the folder.
        classes: names of the classes.
        notes: on what is left out.
        fingerprint: changes with the classes and the arrays.
        arrays: `names` (bytes of all relative paths in a row), `ends` of each in them, `hashes` of them, `labels`,
            `given` (part, as its place in `("", "train", "validation", "test")`), `sizes` in bytes, `times` of change
            in ns.
        file: holds the arrays; None where it could not be written.
    """

    root: Path
    classes: tuple[str, ...]
    notes: tuple[str, ...]
    fingerprint: str
    arrays: Mapping[str, NDArray[Any]]
    file: Path | None = None

    @classmethod
    def open(cls, root: Path) -> "FolderIndex":
        """List a folder, and take its arrays from the cache where it has not changed since.

        Raises:
            DataError: If there is no such folder, it cannot be read, or a class has too few pictures.
        """
        folders, notes = list_classes(root)
        found = list_pictures(root, [folder.path for folder in folders])
        notes += _left_out(found)
        _check(root, folders, found, notes)
        classes = sorted({folder.name for folder in folders})
        arrays = _arrays(folders, classes, found)
        digest = hashlib.blake2b(repr((_VERSION, classes)).encode(), digest_size=8)
        for name in sorted(arrays):
            digest.update(arrays[name].data)
        return cls(root, tuple(map(shown_name, classes)), notes, digest.hexdigest(), arrays)._stored()

    def __reduce__(self) -> tuple[Any, ...]:
        """Give another process the path of the file."""
        about = (self.root, self.classes, self.notes, self.fingerprint)
        return (FolderIndex, (*about, self.arrays)) if self.file is None else (_mapped, (*about, self.file))

    def __len__(self) -> int:
        return len(self.arrays["labels"])

    @property
    def title(self) -> str:
        """Name the data shortly."""
        return f"folder:{shown_name(os.fsencode(self.root.name))}"

    @property
    def place(self) -> str:
        """Name the data with all of their path, for errors."""
        return f"folder:{self.root}"

    def name(self, place: int) -> bytes:
        """Give the path of a picture, relative to the root."""
        ends = self.arrays["ends"]
        return self.arrays["names"][ends[place - 1] if place else 0 : ends[place]].tobytes()

    def path(self, place: int) -> Path:
        """Give the path of a picture."""
        return self.root / os.fsdecode(self.name(place))

    def opened(self, place: int) -> Path | BytesIO:
        """Give what a picture is read from."""
        return self.path(place)

    def parts(self, seed: int) -> dict[str, NDArray[np.int64]]:
        """Give the indices of the pictures of each part: as the folder is split, else drawn by the hash of the path."""
        given = self.arrays["given"]
        parts = {part: np.flatnonzero(given == _GIVEN.index(part)) for part in PARTS}
        parts = {part: places for part, places in parts.items() if len(places)}
        pool = parts.get("train", np.arange(len(self)))
        missing = [part for part in ("validation", "test") if part not in parts]
        drawn = by_hash(self.arrays["hashes"][pool], seed, self.arrays["labels"][pool], missing, HELD_OUT)
        parts |= {part: pool[places] for part, places in drawn.items()}
        if for_training() and (empty := [part for part in PARTS if not len(parts[part])]):
            raise DataError(
                f"{self.place} has {len(pool):,} images to learn from, of which none is left for "
                f"{' and '.join(empty)}: give more, or several of each class"
            )
        return parts

    def columns(self, seed: int) -> Columns | None:
        """Give the columns of the table that the pictures are from; a folder has none."""
        return None

    def sample(self, places: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """Choose so many of some pictures by the hashes of their paths."""
        hashes = mix(self.arrays["hashes"][places], _VERSION)
        return places[np.argsort(hashes, kind="stable")[:count]]

    def keys(self) -> NDArray[np.uint64]:
        """Give a number for each picture that changes with its path, size and time of change."""
        hashes, sizes, times = (self.arrays[name].view(np.uint64) for name in ("hashes", "sizes", "times"))
        return mix(mix(hashes + sizes, 0) + times, 0)

    def kept(self, name: str, make: Callable[[], Any]) -> Any:
        """Give a JSON value that is computed once for this index, and kept beside it in the cache."""
        name = f"images/{name}-{self.fingerprint}.json"
        with suppress(OSError, ValueError):
            return json.loads((cache_folder() / name).read_text(encoding="utf-8"))
        value = make()
        with suppress(DataError):  # a cache that cannot be written
            cached_file(name, lambda path: _write(path, json.dumps(value).encode()))
        return value

    def _stored(self) -> "FolderIndex":
        """Write the arrays to the cache, if they are not there, and map them."""
        content = {name: torch.from_numpy(array) for name, array in self.arrays.items()}
        about = (self.root, self.classes, self.notes, self.fingerprint)
        try:
            name = f"images/index-{self.fingerprint}.safetensors"
            return _mapped(*about, cached_file(name, lambda path: _write(path, save(content))))
        except (DataError, SafetensorError) as error:
            warnings.warn(f"folder:{self.root}: the index of its pictures is not kept: {error}", stacklevel=3)
            return self


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _mapped(root: Path, classes: tuple[str, ...], notes: tuple[str, ...], fingerprint: str, file: Path) -> FolderIndex:
    with safe_open(file, "pt") as opened:  # tensors in the pages of the file; those for numpy are copies
        arrays = {name: opened.get_tensor(name).numpy() for name in opened.keys()}  # noqa: SIM118
    return FolderIndex(root, classes, notes, fingerprint, arrays, file)


def _arrays(
    folders: Sequence[ClassFolder], classes: Sequence[bytes], found: Sequence[Listed]
) -> dict[str, NDArray[Any]]:
    counts = [len(each.names) for each in found]
    label = {name: place for place, name in enumerate(classes)}
    return {
        "names": np.frombuffer(b"".join(name for each in found for name in each.names), np.uint8).copy(),
        "ends": np.fromiter((len(name) for each in found for name in each.names), np.int64, sum(counts)).cumsum(),
        "hashes": hash_names(name for each in found for name in each.names).copy(),
        "labels": np.repeat(np.array([label[folder.name] for folder in folders]), counts),
        "given": np.repeat(np.array([_GIVEN.index(folder.part) for folder in folders], np.int8), counts),
        "sizes": np.concatenate([each.sizes for each in found]),
        "times": np.concatenate([each.times for each in found]),
    }


def _left_out(found: Sequence[Listed]) -> tuple[str, ...]:
    """Count and name what is left out, by reason."""
    by_reason: dict[str, list[str]] = {}
    for each in found:
        for why, names in each.left_out.items():
            by_reason.setdefault(why, []).extend(map(shown_name, names))
    return tuple(
        f"{len(names):,} {'file' if len(names) == 1 else 'files'} left out ({why}): {listed(names)}"
        for why, names in sorted(by_reason.items())
    )


def _check(root: Path, folders: Sequence[ClassFolder], found: Sequence[Listed], notes: Sequence[str]) -> None:
    """Check that all folders can be read, with enough pictures of each class for the parts that are drawn.

    Raises:
        DataError: If not; the text names all such folders, and what else is left out.
    """
    given = {folder.part for folder in folders}
    drawn = ["train", *(part for part in ("validation", "test") if part not in given)]
    few = [
        f"class {shown_name(folder.name)!r} has {len(each.names) or 'no'} image{'' if len(each.names) == 1 else 's'}"
        for folder, each in zip(folders, found, strict=True)
        if for_training() and folder.part in ("", "train") and len(each.names) < len(drawn) and not each.closed
    ]
    problems = [text for each in found for text in each.closed]
    for part in sorted(given - {"", "train"}):
        if not any(
            each.names or each.closed for folder, each in zip(folders, found, strict=True) if folder.part == part
        ):
            problems.append(f"{part} has no image: add some, or remove its folder, and it is drawn from the training")
    if few:
        wanted = {1: "Training needs", 2: f"Training and {drawn[-1]} need", 3: "Training, validation and test need"}
        problems.append(
            f"{'; '.join(few)}. {wanted[len(drawn)]} one of each class: add images, or move the folder away"
        )
    if problems:
        raise DataError(f"folder:{root}: " + "\n  ".join([*problems, *notes]))
