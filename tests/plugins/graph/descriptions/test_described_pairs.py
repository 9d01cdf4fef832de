"""Graphs with texts that a program gives, to a joined model that writes."""

from pathlib import Path
from typing import Any

import pytest
import torch

import zoo
from zoo.errors import DataError

NAME = "joined:graph-tiny+rnn-tiny"
SETTINGS: dict[str, Any] = {"steps": 1, "batch_size": 4, "validations": 1}


def star(leaves: int) -> tuple[torch.Tensor, torch.Tensor]:
    ends = torch.arange(1, leaves + 1)
    both = torch.stack([torch.cat([ends * 0, ends]), torch.cat([ends, ends * 0])])
    return torch.ones(leaves + 1, 2), both


def test_molecules_and_texts_are_learned_judged_and_asked(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    pairs = [("C" * n, f"{n} carbons") for n in range(1, 13)]
    trained = zoo.train(NAME, pairs, out=tmp_path / "run", **SETTINGS)
    assert {"exact match", "BLEU"} <= {*trained.scores}
    judged = zoo.evaluate(tmp_path / "run", pairs[:4], samples=2, worst=0)
    assert judged.count == 4
    ((_, answers),) = zoo.Pipeline(str(tmp_path / "run")).generate(["CCO"], max_len=3)
    assert len(answers) == 1


def test_graphs_of_tensors_keep_the_parts_that_are_given() -> None:
    pairs = [(star(n), f"{n} leaves") for n in range(1, 9)]
    trained = zoo.train(NAME, pairs[:4], pairs[4:6], pairs[6:], **SETTINGS)
    assert trained.model.spec.config["node_features"] == 2
    with pytest.raises(DataError, match=r"train\[1\]: a graph needs a text: text=3"):
        zoo.train(NAME, [pairs[0], (star(2), 3)], **SETTINGS)
    with pytest.raises(DataError, match="different numbers of features"):
        zoo.train(NAME, [*pairs, ((torch.ones(2, 3), star(1)[1]), "other")], **SETTINGS)
    with pytest.raises(DataError, match=r"validation\[0\] is .*: a pair \(input, target\) is wanted"):
        zoo.train(NAME, pairs, [3], **SETTINGS)
