"""Deterministic train, validation and test splits, and fingerprints of data."""

import hashlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch

from zoo.errors import DataError
from zoo.names import counted

Example = TypeVar("Example")
_SHARE = 10
"""One tenth for validation, one for test."""
_MOST = 2000
"""Examples of validation or test that are enough for three figures."""


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


def complete(
    given: Mapping[str, Sequence[Example]], key: Callable[[Example], Hashable], seed: int, name: str
) -> Parts[Example]:
    """Take validation and test from the training examples where they are not given.

    Args:
        given: examples of `train`, and of `validation` and `test` where they are set apart already.
        key: of an example; those that share it stay together, so that nothing tested was trained on.
        seed: of the split.
        name: of the data, for the error.

    Raises:
        DataError: If there are too few different examples.
    """
    train, parts = list(given["train"]), dict(given)
    wanted = [part for part in ("test", "validation") if part not in parts]
    keys = list(dict.fromkeys(key(example) for example in train))
    if len(keys) <= len(wanted):
        raise DataError(
            f"{name} has {counted(len(train), 'example')}, of which {len(keys)} differ; "
            f"training{''.join(f' and {part}' for part in wanted[::-1])} need one each"
        )
    order = torch.randperm(len(keys), generator=torch.Generator().manual_seed(seed)).tolist()
    held = min(_MOST, max(1, len(keys) // _SHARE))
    home = {keys[place]: rank // held for rank, place in enumerate(order)}
    for rank, part in enumerate(wanted):
        parts[part] = [example for example in train if home[key(example)] == rank]
    rest = [example for example in train if home[key(example)] >= len(wanted)]
    return Parts(rest, parts["validation"], parts["test"])


def fingerprint(pieces: Iterable[str]) -> str:
    """Give a text that changes with any of some texts."""
    digest = hashlib.blake2b(digest_size=8)
    for piece in pieces:
        digest.update(piece.encode() + b"\0")
    return digest.hexdigest()
