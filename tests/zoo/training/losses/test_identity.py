"""Losses of the user are told apart by what they compute."""

import functools
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from zoo.training.losses.identity import identity_of

PLAIN = torch.ones(2)


def scaled(factor: Any) -> Callable[[Any, Any], Any]:
    def loss(answer: Any, target: Any) -> Any:
        return factor * cross_entropy(answer, target)

    return loss


def smoothed(value: float) -> Any:
    return functools.partial(cross_entropy, label_smoothing=value)


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        (lambda a, t: cross_entropy(a, t), lambda a, t: cross_entropy(a, t), lambda a, t: 2 * cross_entropy(a, t)),
        (lambda a, t: t in {1, 2}, lambda a, t: t in {2, 1}, lambda a, t: t in {1, 3}),
        (scaled(1.0), scaled(1.0), scaled(2.0)),
        (scaled(PLAIN), scaled(PLAIN.clone()), scaled(2 * PLAIN)),
        (smoothed(0.1), smoothed(0.1), smoothed(0.2)),
        (nn.CrossEntropyLoss(), nn.CrossEntropyLoss(), nn.CrossEntropyLoss(label_smoothing=0.1)),
        (nn.CrossEntropyLoss(PLAIN), nn.CrossEntropyLoss(PLAIN.clone()), nn.CrossEntropyLoss(2 * PLAIN)),
    ],
)
def test_the_same_code_with_the_same_values_is_one_loss_and_others_are_not(one: Any, same: Any, other: Any) -> None:
    assert identity_of(one) == identity_of(same)
    assert identity_of(one) != identity_of(other)


def test_a_function_of_a_module_is_known_by_its_name() -> None:
    assert identity_of(cross_entropy) == "cross_entropy"
    assert identity_of(scaled) == "scaled"


def test_a_function_that_refers_to_itself_has_an_identity() -> None:
    def loss(answer: Any, target: Any) -> Any:
        return answer if target is None else loss(answer, None)

    assert identity_of(loss).startswith("loss ")


def test_another_process_gives_a_lambda_the_same_identity(capsys: pytest.CaptureFixture[str]) -> None:
    code = (
        "from zoo.training.losses.identity import identity_of\n"
        "def make(x):\n    return lambda a, t: sorted(y for y in (a, t, 'b')) and {'k': x} and a in {'p', 'q', 'r'}\n"
        "print(identity_of(make(3)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    exec(compile(code, "<string>", "exec"), {})
    assert done.stdout == capsys.readouterr().out
    assert done.stdout.startswith("<lambda> ")
