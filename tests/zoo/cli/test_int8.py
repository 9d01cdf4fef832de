"""`zoo bench int8`: the figures of a checkpoint on texts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import zoo

SIZES: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 24}


def test_a_checkpoint_is_compared_with_its_int8_copy(run: Callable[..., Any], tmp_path: Path) -> None:
    zoo.weights.save(zoo.create("decoder-tiny", **SIZES), tmp_path)
    code, out, _ = run("bench", "int8", str(tmp_path), "some words", "and more")
    assert code == 0
    assert [line.split("  ")[0] for line in out.splitlines()] == [
        "weights", "same best class", "largest error of a score", "perplexity",
    ]  # fmt: skip
    assert "int8 weights already" in run("bench", "int8", str(zoo.weights.save(_int8(), tmp_path / "b")), "words")[2]


def _int8() -> Any:
    return zoo.quantize(zoo.create("decoder-tiny", **SIZES))
