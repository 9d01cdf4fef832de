"""A shard of a study: a fixed part of its runs, computed by a command of its own on any machine, beside the others.

Shards share a folder and nothing else: each appends to the results in its folder below that of the study, and locks
that folder alone. A report reads them all.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from zoo.errors import ConfigError

Value = TypeVar("Value")


@dataclass(frozen=True, order=True)
class Shard:
    """The `number`-th of `count` parts of a study's runs, in turns: of 3, the second has the runs 2, 5, 8, …"""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Read `3/16`.

        Raises:
            ConfigError: If it is something else, or there is no such part.
        """
        found = re.fullmatch(r"(\d+)/(\d+)", text.strip())
        shard = cls(int(found[1]), int(found[2])) if found else None
        if shard is None or not 1 <= shard.number <= shard.count:
            raise ConfigError(
                f"--shard {text}: write which of how many parts this command computes, from 1/16 to 16/16"
            )
        return shard

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def folder(self, study: Path) -> Path:
        """Give where its results are, in the folder of the study."""
        return study / f"shard-{self.number}-of-{self.count}"

    def part(self, runs: Mapping[str, Value]) -> dict[str, Value]:
        """Choose its runs, in their order; they do not depend on what is done already."""
        return {key: run for place, (key, run) in enumerate(runs.items()) if place % self.count == self.number - 1}


def shards_in(study: Path) -> list[Shard]:
    """List the shards that have begun in the folder of a study."""
    found = (re.fullmatch(r"shard-(\d+)-of-(\d+)", folder.name) for folder in study.glob("shard-*") if folder.is_dir())
    return sorted(Shard(int(each[1]), int(each[2])) for each in found if each)


def check_count(shard: Shard, study: Path) -> None:
    """Refuse parts of another number than those that have begun, which would compute the same runs again.

    Raises:
        ConfigError: If they are of another number.
    """
    if others := sorted({other.count for other in shards_in(study)} - {shard.count}):
        raise ConfigError(
            f"--shard {shard}: {study} holds results of {others[0]} shards, whose runs are parted in another way; "
            f"write {shard.number}/{others[0]}, or choose another folder with --out"
        )


def unfinished(shards: Sequence[Shard], runs: Mapping[str, object], done: Iterable[str]) -> dict[Shard, int]:
    """Count the runs that each shard still has to do, begun or not; those with none are left out.

    Args:
        shards: that have begun, all of one number; without any, nothing is left to them.
        runs: of the study, by key.
        done: keys of those whose results there are.
    """
    settled, left = set(done), {}
    count = shards[0].count if shards else 0
    for number in range(1, count + 1):
        part = Shard(number, count)
        if missing := len(part.part(runs).keys() - settled):
            left[part] = missing
    return left
