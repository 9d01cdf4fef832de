"""`zoo bench int8`: the figures of a checkpoint on texts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import zoo
from zoo.plugins.shared.text.tokenizer import Tokenizer

SIZES: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 24}


def test_a_checkpoint_is_compared_with_its_int8_copy(run: Callable[..., Any], tmp_path: Path) -> None:
    zoo.weights.save(zoo.create("decoder-tiny", **SIZES), tmp_path)
    Tokenizer.byte_level().save(tmp_path / "tokenizer.json")
    code, out, _ = run("bench", "int8", str(tmp_path), "some words", "and more")
    assert code == 0
    assert [line.split("  ")[0] for line in out.splitlines()] == [
        "weights", "same best class", "largest error of a score", "perplexity",
    ]  # fmt: skip
