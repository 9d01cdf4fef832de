"""Forced decoding: given targets have the scores that they have when they are generated."""

import math
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from zoo.core import InputError, Symbols, TargetScores
from zoo.core.generation.loop import Generated
from zoo.core.generation.target_scores import targets_of

pytestmark = pytest.mark.usefixtures("float64")

Maker = Callable[..., Any]
Told = Callable[..., list[float]]

IDS = torch.tensor([[3, 4, 5], [6, 5, 4]])
VALID = torch.tensor([[False, True, True], [True, True, True]])


@pytest.mark.parametrize("encoder", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_what_a_search_gave_has_its_scores(writer: Maker, encoder: bool, alpha: float) -> None:
    model = writer(encoder=encoder, seed=2)
    found = model.generate(IDS, VALID, max_len=6, beam=4, n_best=4, length_penalty=alpha)
    got = model.target_scores(IDS, VALID, target=found, length_penalty=alpha)
    torch.testing.assert_close(got.scores, found.scores)
    again = model.target_scores(IDS, VALID, target=found.ids, length_penalty=alpha)
    torch.testing.assert_close(again.scores, found.scores)


@pytest.mark.parametrize("options", [{}, {"mean": True}, {"position": "learned"}])
def test_tokens_have_the_log_probabilities_of_teacher_forcing(
    writer: Maker, told: Told, options: dict[str, Any]
) -> None:
    model = writer(**options)
    targets = [[4, 5, 2], [6]]
    got = model.target_scores(IDS, VALID, target=targets)
    assert isinstance(got, TargetScores)
    for row, (prompt, target) in enumerate(zip(([4, 5], [6, 5, 4]), targets, strict=True)):
        wanted = told(model, prompt, target)
        assert got.tokens[row, 0, : len(target)].tolist() == pytest.approx(wanted)
        assert got.tokens[row, 0, len(target) :].tolist() == [0.0] * (3 - len(target))
        assert float(got.scores[row, 0]) == pytest.approx(sum(wanted))
    assert got.lengths.tolist() == [[3], [1]]


def test_a_prompt_of_the_answer_is_not_scored(writer: Maker, told: Told) -> None:
    model = writer(encoder=True)
    got = model.target_scores(IDS, None, target=[[5, 2], [4, 2]], prompt=torch.tensor([1, 6]))
    wanted = [told(model, [1, 6], [5, 2], IDS[:1], None), told(model, [1, 6], [4, 2], IDS[1:], None)]
    for row in range(2):
        assert got.tokens[row, 0].tolist() == pytest.approx(wanted[row])


def test_a_model_in_training_scores_as_in_evaluation_and_stays_in_training(writer: Maker) -> None:
    model = writer().train()
    assert not model.target_scores(IDS, target=IDS).scores.requires_grad
    assert model.training


@pytest.mark.parametrize(
    ("target", "symbols", "counts"),
    [
        ([[3, 2, 4], [3]], Symbols(), [[3], [1]]),
        (torch.tensor([[3, 2, 4], [3, 0, 0], [4, 0, 5]]), Symbols(), [[2], [1], [3]]),
        (torch.tensor([[3, -100], [-100, -100]]), Symbols(), [[1], [0]]),
        (torch.tensor([[[3, 2], [2, 2]]]), Symbols(2, 2, 2), [[2, 1]]),
        (torch.zeros(1, 0, dtype=torch.long), Symbols(), [[0]]),
        (
            Generated(torch.tensor([[[3, 2], [4, 4], [0, 0]]]), torch.tensor([[1, 2, 0]]),
                      torch.tensor([[-1.0, -2.0, -math.inf]])),
            Symbols(), [[2, 2, 0]],
        ),
    ],
)  # fmt: skip
def test_targets_end_with_their_end_or_before_padding(target: Any, symbols: Symbols, counts: list[list[int]]) -> None:
    assert targets_of(target, symbols, torch.device("cpu"))[1].tolist() == counts


def test_a_target_without_tokens_has_no_probability(writer: Maker) -> None:
    assert writer().target_scores(IDS, target=[[], [3]]).scores[:, 0].isfinite().tolist() == [False, True]


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ([[3]], "targets of 1 rows for a batch of 2: give one for each"),
        ([], "target=[]: give the ids of each row"),
        ([[3], [7]], "token 7 of a target: the vocabulary has 7"),
        (torch.ones(2), "target of shape (2,) of torch.float32: whole numbers (batch, tokens)"),
        ([[3] * 9, [3]], "prompt and target of 12 tokens: the model holds 9"),
    ],
)
def test_targets_that_do_not_fit_are_refused(writer: Maker, target: Any, text: str) -> None:
    with pytest.raises(InputError, match=re.escape(text)):
        writer(max_len=9).target_scores(IDS, target=target)
