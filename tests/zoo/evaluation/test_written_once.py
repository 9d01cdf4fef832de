"""Texts are decoded once for the judge and for the data's own scores."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import zoo
from zoo.evaluation.written_once import written_once

SIZES: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}


class Counting(nn.Module):
    """Answer with what was asked, and count."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Sequence[Any]] = []

    def generate(self, *inputs: Any, **options: Any) -> Any:
        self.calls.append(inputs)
        return inputs, options


def test_the_same_inputs_are_decoded_once_and_others_again() -> None:
    model, x = Counting(), torch.tensor([[1, 2], [3, 4]])
    with written_once(model):
        first = model.generate(x, None, max_len=3)
        assert model.generate(x.clone(), None, max_len=3) is first
        assert len(model.calls) == 1
        others: list[tuple[list[Tensor | None], int]] = [
            ([x + 1, None], 3), ([x.int(), None], 3), ([x.view(4), None], 3), ([x], 3), ([x, None], 4),
        ]  # fmt: skip
        for inputs, most in others:
            model.generate(*inputs, max_len=most)
        assert len(model.calls) == 6
    model.generate(x, None, max_len=3)
    assert len(model.calls) == 7
    assert "generate" not in vars(model)


def test_what_is_drawn_or_reads_more_than_tensors_is_never_remembered() -> None:
    model, x = Counting(), torch.zeros(2, 2)
    with written_once(model):
        for _ in range(2):
            model.generate(x, temperature=1.0)
            model.generate(["a graph"], max_len=2)
    assert len(model.calls) == 4


def test_an_evaluation_decodes_each_batch_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f"{n} a\tb {n}" for n in range(60)]
    (tmp_path / "pairs.tsv").write_text("\n".join(rows) + "\n")
    run = zoo.train(
        "transformer-tiny", f"parallel:{tmp_path / 'pairs.tsv'}", steps=1, batch_size=4, tokenizer="byte", **SIZES
    )
    kind, calls = type(run.model), []
    generate: Any = kind.generate

    def counted(self: Any, *inputs: Any, **options: Any) -> Any:
        calls.append(len(inputs[0]))
        return generate(self, *inputs, **options)

    monkeypatch.setattr(kind, "generate", counted)
    found = zoo.evaluate(run, samples=2, batch_size=4)
    assert found.count == sum(calls)
    assert found.own["BLEU"] == pytest.approx(found.scores["BLEU"].value)
