"""`zoo bench speed`."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from zoo import ConfigError
from zoo.bench.speed.compare import command, markdown, measure
from zoo.cli.app import build


@pytest.mark.slow
def test_each_piece_of_work_is_a_row() -> None:
    rows = list(measure(["vit-micro"], peer=True, batch_size=2, thread_counts=[1], rounds=1))
    assert [(row.work, row.precision) for row in rows] == [
        (work, precision) for precision in ("fp32", "bf16", "autocast") for work in ("forward", "step")
    ]
    assert all(row.per_second > 0 and row.share > 0 and row.ratio and row.ratio.median > 0 for row in rows)


def test_a_model_without_a_peer_is_timed_alone() -> None:
    (row,) = measure(["resnet-micro"], work=["forward"], precisions=["fp32"], thread_counts=[1], rounds=1)
    assert row.ratio is None
    assert "| resnet-micro | forward | fp32 | 1 |" in markdown([row], "zoo bench speed")
    with pytest.raises(ConfigError, match="'resnet-micro' has no peer to compare with"):
        next(iter(measure(["resnet-micro"], peer=True)))


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ({"work": ["sleep"]}, "work='sleep' is not one of forward, step"),
        ({"precisions": ["fp8"]}, "precision='fp8' is"),
    ],
)
def test_unknown_work_and_precision_are_refused(option: dict[str, list[str]], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        next(iter(measure(["vit-micro"], **option)))  # type: ignore[arg-type]


@pytest.mark.parametrize("count", ["a", "0", "-1", "²"])
def test_threads_that_are_no_number_are_refused(count: str) -> None:
    with pytest.raises(ConfigError, match=f"--threads 1,{count}: '{count}' is not a number of threads"):
        command(threads=f"1,{count}")


def test_the_command_writes_its_table(tmp_path: Path) -> None:
    options = ["--models", "vit-micro", "--work", "forward", "--precision", "fp32", "--threads", "1", "--rounds", "1"]
    result = CliRunner().invoke(build(), ["bench", "speed", *options, "--out", str(tmp_path / "speed.md")])
    assert result.exit_code == 0, result.output
    assert "vit-micro" in result.output
    assert (tmp_path / "speed.md").read_text().startswith("`zoo bench speed --models vit-micro")
