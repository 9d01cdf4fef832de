"""`zoo bench speed --models`."""

import pytest

from zoo import ConfigError
from zoo.bench.speed.compare import configurations, execute, markdown, rows_of


@pytest.mark.slow
def test_each_piece_of_work_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.bench.speed.compare.matrix_rate", lambda dtype: 1e11)  # slow where bfloat16 is emulated
    configs = configurations(["vit-micro"], peer=True, batch_size=2, thread_counts=[1], rounds=1)
    rows = rows_of([{"config": config, **execute(config)} for config in configs])
    assert [(row.work, row.precision) for row in rows] == [
        (work, precision) for precision in ("fp32", "bf16", "autocast") for work in ("forward", "step")
    ]
    assert all(row.per_second > 0 and row.share > 0 and row.ratio and row.ratio.median > 0 for row in rows)


def test_a_model_without_a_peer_is_timed_alone() -> None:
    (config,) = configurations(["resnet-micro"], work=["forward"], precisions=["fp32"], thread_counts=[1], rounds=1)
    (row,) = rows_of([{"config": config, **execute(config)}, {"config": config, "error": "no memory"}])
    assert row.ratio is None
    assert "| resnet-micro | forward | fp32 | 1 |" in markdown([row], "zoo bench speed")
    with pytest.raises(ConfigError, match="'resnet-micro' has no peer to compare with"):
        configurations(["resnet-micro"], peer=True)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ({"work": ["sleep"]}, "work='sleep' is not one of forward, step"),
        ({"precisions": ["fp8"]}, "precision='fp8' is"),
    ],
)
def test_unknown_work_and_precision_are_refused(option: dict[str, list[str]], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        configurations(["vit-micro"], **option)  # type: ignore[arg-type]
