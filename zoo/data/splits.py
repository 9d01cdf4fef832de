"""Deterministic train, validation and test splits, and fingerprints of data."""

import hashlib
import heapq
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from jaxtyping import Int, Int64, UInt64

from zoo.data.purpose import for_training
from zoo.errors import DataError
from zoo.names import counted

Example = TypeVar("Example")
_SHARE = 10
"""One tenth for validation, one for test."""
_MOST = 2000
"""Examples of validation or test that are enough for three figures."""
FIRST_HASH = {"test": 0.0, "validation": 0.5}
"""Where the texts of a part begin in [0, 1), so that those of a smaller share are among those of a larger."""


@dataclass(frozen=True)
class Parts(Generic[Example]):
    """Hold the examples of each part."""

    train: Sequence[Example]
    validation: Sequence[Example]
    test: Sequence[Example]

    def __iter__(self) -> Iterator[Sequence[Example]]:
        """Give the parts in order."""
        yield from self.by_name().values()

    def by_name(self) -> dict[str, Sequence[Example]]:
        """Give each part with its name."""
        return {"train": self.train, "validation": self.validation, "test": self.test}


Draw = Callable[[Sequence[Any], Sequence[str], int], dict[Any, str]]
"""Gives the part of each key that is held out, of keys, names of parts and a seed."""


def shuffled(keys: Sequence[Hashable], wanted: Sequence[str], seed: int) -> dict[Hashable, str]:
    """Hold out a tenth of the keys for each part, 2,000 at most, in a random order."""
    order = torch.randperm(len(keys), generator=torch.Generator().manual_seed(seed)).tolist()
    held = min(_MOST, max(1, len(keys) // _SHARE))
    return {keys[place]: wanted[rank // held] for rank, place in enumerate(order) if rank // held < len(wanted)}


def by_text(keys: Sequence[str], wanted: Sequence[str], seed: int) -> dict[str, str]:
    """Hold out texts by a hash of each, so that a growing set keeps its parts: about a tenth for each, 2,000 at most.

    A part is the texts of the lowest hashes from its own begin on, see `FIRST_HASH`: one at least, a fifth at most.
    """
    home: dict[str, str] = {}
    most = min(_MOST, max(1, len(keys) // 5))
    hashes = {key: hash_fraction(key, seed) for key in keys}
    for part in wanted:
        places = {key: (hashed - FIRST_HASH[part]) % 1 for key, hashed in hashes.items() if key not in home}
        nearest = heapq.nsmallest(most, places, key=places.__getitem__)
        home |= {key: part for key in nearest if places[key] < 1 / _SHARE or key == nearest[0]}
    return home


def complete(
    given: Mapping[str, Sequence[Example]],
    key: Callable[[Example], Any],
    seed: int,
    name: str,
    draw: Draw = shuffled,
) -> Parts[Example]:
    """Take validation and test from the training examples where they are not given.

    Args:
        given: examples of `train`, and of `validation` and `test` where they are set apart already.
        key: of an example; those that share it stay together, so that nothing tested was trained on.
        seed: of the split.
        name: of the data, for the error.
        draw: chooses the keys that are held out.

    Raises:
        DataError: If there are too few different examples to learn from.
    """
    train, parts = list(given["train"]), dict(given)
    wanted = [part for part in ("test", "validation") if part not in parts]
    keys = list(dict.fromkeys(key(example) for example in train))
    if for_training() and len(keys) <= len(wanted):
        raise DataError(
            f"{name} has {counted(len(train), 'example')}, of which {len(keys)} differ; "
            f"training{''.join(f' and {part}' for part in wanted[::-1])} need one each"
        )
    home = draw(keys, wanted, seed)
    for part in wanted:
        parts[part] = [example for example in train if home.get(key(example)) == part]
    rest = [example for example in train if key(example) not in home]
    return Parts(rest, parts["validation"], parts["test"])


def hash_names(names: Iterable[bytes]) -> UInt64[np.ndarray, " n"]:
    """Hash the names of examples, such as relative paths, for `by_hash`: blake2b, 64 bits."""
    digests = b"".join(hashlib.blake2b(name, digest_size=8).digest() for name in names)
    return np.frombuffer(digests, np.uint64)


def by_hash(
    hashes: UInt64[np.ndarray, " n"],
    seed: int,
    classes: Int[np.ndarray, " n"] | None = None,
    held_out: Sequence[str] = ("validation", "test"),
    share: float = 1 / _SHARE,
) -> dict[str, Int64[np.ndarray, " part"]]:
    """Draw `train` and the parts held out by a hash of each example, and give the indices of each part in order.

    An example is in the same part whatever others come or go, but for the first examples of a class: a class that has
    as many as there are parts has at least one in each. Examples of one hash are in one part.

    Args:
        hashes: of the examples, see `hash_names`.
        seed: of the draw.
        classes: of the examples, from 0; each has its share in each part. Of one hash, that of the first example
            counts. None for one class.
        held_out: the parts besides `train`.
        share: of the examples in each part held out.
    """
    keys, first, key = np.unique(hashes, return_index=True, return_inverse=True)
    classes = np.zeros(len(keys), np.int64) if classes is None else classes[first]
    drawn = mix(keys, seed) / np.float64(2**64)
    bucket = np.minimum((drawn / share).astype(np.int64), len(held_out))
    kinds = int(classes.max(initial=0)) + 1
    counts = np.bincount(classes * (len(held_out) + 1) + bucket, minlength=kinds * (len(held_out) + 1))
    ends = _at_least_one(counts.reshape(kinds, -1)).cumsum(1)
    order = np.lexsort((drawn, classes))
    sizes = ends[:, -1]
    rank = np.arange(len(order)) - np.repeat(sizes.cumsum() - sizes, sizes)
    part = np.empty(len(order), np.int64)
    part[order] = (rank[:, None] >= ends[classes[order], :-1]).sum(1)
    return {name: np.flatnonzero(part[key] == place) for place, name in enumerate((*held_out, "train"))}


def mix(hashes: UInt64[np.ndarray, " n"], word: int) -> UInt64[np.ndarray, " n"]:
    """Derive other hashes by a number: the finalizer of splitmix64 (doi:10.1145/2660193.2660195)."""
    (salt,) = np.random.SeedSequence(word).generate_state(1, np.uint64)
    mixed = hashes ^ salt
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def _at_least_one(counts: Int64[np.ndarray, "classes parts"]) -> Int64[np.ndarray, "classes parts"]:
    """Move an example of the largest part of a class to each empty one, where the class has enough."""
    counts = counts.copy()
    enough = counts.sum(1) >= counts.shape[1]
    for part in counts.T:
        lacking = enough & (part == 0)
        counts[lacking, counts[lacking].argmax(1)] -= 1
        part[lacking] = 1
    return counts


def hash_fraction(name: str, seed: int) -> float:
    """Give the number in [0, 1) that an example of this name has, whatever other examples there are."""
    salt = (seed % 2**64).to_bytes(8, "little")
    digest = hashlib.blake2b(name.encode(errors="surrogatepass"), digest_size=8, salt=salt).digest()
    return (int.from_bytes(digest, "little") >> 11) * 2.0**-53


def fingerprint(pieces: Iterable[str]) -> str:
    """Give a text that changes with any of some texts."""
    digest = hashlib.blake2b(digest_size=8)
    for piece in pieces:
        digest.update(piece.encode() + b"\0")
    return digest.hexdigest()
