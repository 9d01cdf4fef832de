"""Pairs of a picture and its captions that a program gives."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zoo import DataError, ModelSpec
from zoo.data import DatasetInfo, Pairs, complete, described_item, fingerprint
from zoo.plugins.caption.data.corpus import CaptionCorpus, Captioned
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer


def open_pairs(pairs: Pairs, spec: ModelSpec, seed: int, tokenizer: str) -> CaptionCorpus:
    """Make a corpus of pictures, each with a caption or a list of captions; pairs of one picture are put together.

    A picture is a path, which is read when it is needed, or a PIL image, an array (h, w[, c]) or a tensor (c, h, w),
    which the model's preprocessing reads once.

    Raises:
        DataError: If an item is no such pair, or paths are among pictures.
    """
    given: dict[str, dict[str, Captioned]] = {part: dict(_grouped(pairs, part)) for part in pairs.parts}
    names = {id(item): name for part in given.values() for name, item in part.items()}
    parts = complete(
        {part: [*found.values()] for part, found in given.items()}, lambda item: names[id(item)], seed, pairs.name
    ).by_name()
    every = [(name, item.texts) for part in given.values() for name, item in part.items()]
    chosen = choose_tokenizer(tokenizer, "bpe:8000", [text for item in parts["train"] for text in item.texts])
    text = f"{pairs.name} are {len(every):,} pictures with captions."
    told = fingerprint([*(repr(each) for each in every), str(seed), chosen.content])
    return CaptionCorpus(DatasetInfo(pairs.name, text, told), spec, chosen, parts)


def _grouped(pairs: Pairs, part: str) -> Iterator[tuple[str, Captioned]]:
    """Give the pictures of a part by name: the path, or the hash of the pixels."""
    found: dict[str, tuple[Any, list[str], str]] = {}
    kinds: dict[bool, str] = {}
    for picture, said, place in pairs.pairs(part):
        name, read = _picture(picture, place)
        kinds.setdefault(isinstance(read, Path), place)
        if len(kinds) > 1:
            raise DataError(f"{kinds[True]} is a path, {kinds[False]} a picture: give all as paths or all as pictures")
        found.setdefault(name, (read, [], place))[1].extend(_captions(said, place))
    for name, (read, texts, place) in found.items():
        yield name, Captioned(read, tuple(dict.fromkeys(texts)), place=place)


def _picture(given: Any, place: str) -> tuple[str, Any]:
    if isinstance(given, str | Path):
        path = Path(given).expanduser().absolute()
        if not path.is_file():
            raise DataError(f"{place}: there is no file {str(given)!r}")
        return str(path), path
    try:
        pixels = np.asarray(given)
        digest = hashlib.blake2b(f"{pixels.dtype} {pixels.shape}".encode() + pixels.tobytes(), digest_size=16)
    except (TypeError, ValueError) as error:
        raise DataError(f"{place}: the picture is {described_item(given)}: {error}") from error
    if pixels.ndim not in (2, 3) or pixels.dtype == object:
        raise DataError(f"{place}: the picture is {described_item(given)}; a path, an image or its pixels are wanted")
    return digest.hexdigest(), given


def _captions(said: Any, place: str) -> Sequence[str]:
    texts = [said] if isinstance(said, str) else said
    if not isinstance(texts, list | tuple) or not texts or not all(isinstance(each, str) and each for each in texts):
        raise DataError(f"{place}: the caption is {described_item(said)}; a text, or a list of texts, is wanted")
    return texts
