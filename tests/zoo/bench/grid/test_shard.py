from pathlib import Path

import pytest

from zoo.bench.grid.shard import Shard, check_count, shards_in, unfinished
from zoo.errors import ConfigError

RUNS = {f"key{number}": number for number in range(10)}


@pytest.mark.parametrize("count", [1, 3, 16])
def test_shards_part_the_runs_evenly(count: int) -> None:
    parts = [Shard(number, count).part(RUNS) for number in range(1, count + 1)]
    assert sorted(run for part in parts for run in part.values()) == list(RUNS.values())
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("text", ["17/16", "0/4", "3", "3/", "a/b", "-1/4", "3/0"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=rf"--shard {text}: write which of how many"):
        Shard.parse(text)


def test_a_shard_is_written_as_it_is_read(tmp_path: Path) -> None:
    shard = Shard.parse(" 3/16")
    assert (shard, str(shard)) == (Shard(3, 16), "3/16")
    shard.folder(tmp_path).mkdir()
    (tmp_path / "shard-of-something").mkdir()
    assert shards_in(tmp_path) == [shard]


def test_shards_of_another_number_are_refused(tmp_path: Path) -> None:
    Shard(1, 4).folder(tmp_path).mkdir()
    check_count(Shard(2, 4), tmp_path)
    with pytest.raises(ConfigError, match=r"--shard 2/8: .* holds results of 4 shards.*; write 2/4, or"):
        check_count(Shard(2, 8), tmp_path)


def test_shards_with_runs_to_do_are_counted_also_those_that_have_not_begun() -> None:
    done = [*Shard(1, 3).part(RUNS), "key1"]
    assert not unfinished([], RUNS, ())
    assert unfinished([Shard(1, 3)], RUNS, done) == {Shard(2, 3): 2, Shard(3, 3): 3}
