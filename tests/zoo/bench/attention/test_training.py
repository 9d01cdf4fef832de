"""A training of the study: what it tells, what it refuses, and who can solve what."""

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from zoo.bench.attention import training
from zoo.bench.attention.text_file import TextFile
from zoo.bench.attention.training import (
    LONGER,
    accuracy,
    answers,
    bits,
    cost,
    longer,
    model_for,
    pretrain,
    reads_ahead,
    train,
    untrained,
)
from zoo.core import IGNORED
from zoo.data.sequences import Drawn, Induction, Neighbours
from zoo.errors import ConfigError

PRETRAIN = {"self_pretrain": True}


def config(mechanism: str, task: str, **options: Any) -> dict[str, Any]:
    same = {"steps": 3, "learning_rate": 1e-2, "seed": 0, "heads": 4}
    return {"mechanism": mechanism, "task": task, **same} | options


def test_a_training_gives_the_same_on_every_call_and_tells_each_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "LOOK", 2)
    first, second = (train(config("linear", "neighbours:8")) for _ in range(2))
    assert first == second
    assert [steps for steps, _ in first["looks"]] == [2, 3]
    assert first["accuracy"].keys() == {8}


def test_another_seed_draws_other_weights_and_sequences() -> None:
    assert train(config("full", "neighbours:8")) != train(config("full", "neighbours:8", seed=1))


def test_induction_is_tested_at_greater_lengths_too() -> None:
    assert train(config("full", "induction:8", steps=1))["accuracy"].keys() == {8, *(8 * times for times in LONGER)}
    assert longer(Neighbours(length=8)) == []
    assert [each.length for each in longer(Induction(length=8))] == [16, 32, 64]


def test_what_refuses_the_length_is_told_and_no_crash() -> None:
    for work in (train, cost):
        assert "32" in work(config("linformer:4,16", "neighbours:32"))["refused"]


def test_a_typing_error_is_no_refusal() -> None:
    with pytest.raises(ConfigError, match="linfromer"):
        train(config("linfromer:4", "neighbours:8"))


def test_a_training_ends_when_the_task_is_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "LOOK", 1)
    monkeypatch.setattr(training, "SOLVED", 0.0)
    assert len(train(config("full", "neighbours:8", steps=9))["looks"]) == 1


def test_only_what_asks_counts_and_validation_is_not_the_test() -> None:
    class Knows(nn.Module):
        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return nn.functional.one_hot((ids.roll(1, 1) + ids.roll(2, 1)) % 4, 4).float()

    found = accuracy(Knows(), Neighbours(length=50), 64, 0)
    assert 0.95 < found < 1  # all but the first two, which have fewer neighbours
    drawn = [Neighbours().draw(4, torch.Generator().manual_seed(seed)).ids for seed in _seeds()]
    assert (drawn[0] != drawn[1]).any()


def _seeds() -> tuple[int, int]:
    return training.VALIDATION_SEED, training.TEST_SEED


def test_padding_is_told_where_sequences_have_several_lengths() -> None:
    seen: list[int] = []

    class Counts(nn.Module):
        def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
            seen.append(len(inputs))
            return torch.zeros(*inputs[0].shape, 2)

    ids = torch.zeros(2, 3, dtype=torch.long)
    for lengths in ([3, 3], [3, 2]):
        training.answers(Counts(), Drawn(ids, torch.tensor(lengths), ids))
    assert seen == [1, 2]


def test_a_step_is_measured() -> None:
    found = cost(config("full", "neighbours:8"))
    assert found["step"] > 0
    assert found["bytes"] > 0


def test_a_recurrence_of_fewer_heads_has_a_larger_state_and_as_many_parameters() -> None:
    one, four = (cost(config("delta", "neighbours:8", heads=heads))["state"] for heads in (1, 4))
    assert one == 4 * four
    sizes = [train(config("delta", "neighbours:8", heads=heads))["parameters"] for heads in (1, 4)]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.1)


def test_an_untrained_model_is_measured_or_says_why_not() -> None:
    found = untrained({"mechanism": "linear", "length": 16, "heads": 1})
    assert found.keys() == {"forward", "step", "bytes"}
    assert min(found.values()) > 0
    assert "no place behind" in untrained({"mechanism": "linformer:4,8", "length": 16, "heads": 1})["refused"]
    assert "do not fit" in untrained({"mechanism": "doubly-stochastic", "length": 2**21, "heads": 1})["refused"]


def test_a_text_is_learned_by_what_reads_no_later_character(tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("".join(random.Random(0).choices("abcdef", k=2000)))
    task = f"text:{tmp_path / 'own.txt'},16"
    for mechanism in ("full", "delta", "reformer:4,1,4", "lstm-micro"):
        assert {"bits", "shortcut_bits", "shortcuts"} <= train(config(mechanism, task, steps=1)).keys()
    assert "later" in train(config("dilated-cnn-micro", task))["refused"]
    assert "causal" in train(config("linformer:4", task))["refused"]


def test_self_pretraining_changes_what_is_learned_and_nothing_of_a_run_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    classes: list[int] = []
    step = training.train_step

    def noted(model: nn.Module, optimizer: torch.optim.Optimizer, drawn: Drawn) -> None:
        classes.append(answers(model, drawn).shape[-1])
        step(model, optimizer, drawn)

    monkeypatch.setattr(training, "train_step", noted)
    scratch, first, again = (train(config("full", "neighbours:8", **more)) for more in ({}, PRETRAIN, PRETRAIN))
    assert first == again
    assert first["looks"] != scratch["looks"]
    assert len(first["looks"]) == len(scratch["looks"]) == 1
    task = Neighbours(length=8)
    asked, words = [len(task.classes)] * 3, [len(task.words)] * 3
    assert classes == [*asked, *words, *asked, *words, *asked]


@pytest.mark.parametrize("mechanism", ["full", "delta"])
def test_pretraining_learns_what_tokens_there_are(mechanism: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Same:
        words, classes, length = tuple("abcd"), ("no", "yes"), 8

        def draw(self, count: int, generator: torch.Generator) -> Drawn:
            ids = torch.randint(4, (count, 1), generator=generator).repeat(1, 8)
            return Drawn(ids, torch.full((count,), 8), torch.full_like(ids, IGNORED))

        def shortcuts(self) -> dict[str, float]:
            return {}

    torch.manual_seed(0)
    losses: list[float] = []
    monkeypatch.setattr(training, "cross_entropy", lambda *given, **more: noted(losses, cross_entropy(*given, **more)))
    model: Any = model_for(mechanism, Same(), 1, masks=1)
    pretrain(model, Same(), 40, 1e-2, torch.Generator().manual_seed(0))
    assert losses[-1] < 0.3 < 1.2 < losses[0]
    assert model.head.linear.out_features == 2


def noted(losses: list[float], loss: torch.Tensor) -> torch.Tensor:
    losses.append(loss.item())
    return loss


def test_bits_of_a_model_that_knows_nothing_are_those_of_the_alphabet(tmp_path: Path) -> None:
    class Even(nn.Module):
        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return torch.zeros(*ids.shape, 4)

    (tmp_path / "own.txt").write_text("abc" * 300)
    assert bits(Even(), TextFile(tmp_path / "own.txt", 8, 2)) == pytest.approx(2)


def test_a_model_is_seen_to_read_ahead() -> None:
    class Ahead(nn.Module):
        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return ids.roll(self.by, 1)[..., None].float()

    assert reads_ahead(Ahead(-1), Neighbours(length=8))
    assert not reads_ahead(Ahead(0), Neighbours(length=8))
