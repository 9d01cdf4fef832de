"""Pairs of a picture and its captions that a program gives: paths, PIL images, arrays and tensors."""

import hashlib
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from zoo import DataError, ModelSpec
from zoo.data import DatasetInfo, Pairs, Skipped, complete, described_item, fingerprint
from zoo.plugins.caption.data.absent import notes_of
from zoo.plugins.caption.data.corpus import CaptionCorpus, Captioned
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer


def open_pairs(pairs: Pairs, spec: ModelSpec, seed: int, tokenizer: str) -> CaptionCorpus:
    """Make a corpus of pairs (picture, caption) or (picture, captions).

    Pictures are paths, which are read when they are needed, or pixels, which are held in memory: PIL images, arrays
    (h, w[, c]), tensors (c, h, w). A path that comes again has several captions. Parts that are not given are drawn by
    picture.

    Raises:
        DataError: If an item is no such pair, or none of the files is there; those that are not are named and counted.
    """
    there = {part: _part(pairs, part) for part in pairs.parts}
    found = {part: [(_key(item), item) for item in items] for part, (items, _) in there.items()}
    keyed = complete(found, itemgetter(0), seed, pairs.name).by_name()
    parts = {part: [item for _, item in items] for part, items in keyed.items()}
    chosen = choose_tokenizer(tokenizer, "bpe:8000", [text for item in parts["train"] for text in item.texts])
    count = sum(map(len, parts.values()))
    pieces = (f"{part} {key} {item.texts}" for part, items in keyed.items() for key, item in items)
    about = DatasetInfo(
        pairs.name, f"{pairs.name} are {count:,} pictures with captions.", fingerprint([*pieces, chosen.content])
    )
    notes = tuple(chain.from_iterable(notes for _, notes in there.values()))
    return CaptionCorpus(about, spec, chosen, parts, known_notes=notes)


def _part(pairs: Pairs, part: str) -> tuple[list[Captioned], tuple[str, ...]]:
    """Give the pictures of a part that are there, and a note of those that are not."""
    found: dict[Any, Captioned] = {}
    absent: dict[Path, Skipped] = {}
    for picture, said, place in pairs.pairs(part):
        texts = _texts(said, place)
        if not isinstance(picture, str | Path):
            found[place] = Captioned(_pixels(picture, place), texts, place=place)
            continue
        path = Path(picture).expanduser()
        if not path.is_file():
            absent[path] = Skipped(str(picture), f"{place}: there is no such file")
            continue
        before = found.get(path)
        texts = (*before.texts, *texts) if before else texts
        found[path] = Captioned(path, tuple(dict.fromkeys(texts)), place=before.place if before else place)
    return list(found.values()), notes_of(list(absent.values()), len(found) + len(absent), f"{pairs.name}, {part}")


def _pixels(picture: Any, place: str) -> Any:
    if not hasattr(picture, "shape") and not hasattr(picture, "getexif"):  # neither an array nor a PIL image
        raise DataError(f"{place}: the picture is {described_item(picture)}; a path, a PIL image or an array is wanted")
    return picture


def _texts(said: Any, place: str) -> tuple[str, ...]:
    texts = (said,) if isinstance(said, str) else said
    if not isinstance(texts, tuple | list) or not texts or not all(isinstance(text, str) for text in texts):
        raise DataError(f"{place}: the caption is {described_item(said)}; a text, or a list of texts, is wanted")
    found = tuple(" ".join(text.split()) for text in texts)
    if not all(found):
        raise DataError(f"{place}: an empty caption")
    return found


def _key(item: Captioned) -> str:
    """Tell a picture by its path, or by its pixels: the same one is in one part."""
    if isinstance(item.picture, Path):
        return str(item.picture)
    pixels = np.ascontiguousarray(item.picture)
    return hashlib.blake2b(pixels.tobytes() + repr(pixels.shape).encode(), digest_size=16).hexdigest()
