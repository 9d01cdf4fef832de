from typing import Any

import pytest
import torch

import zoo
from zoo.deploy.stepping import Begin, Step


@torch.no_grad()
@pytest.mark.parametrize("name", ["lstm-lm-micro", "gru-lm-micro"])
def test_steps_give_the_scores_of_the_whole(name: str) -> None:
    model: Any = zoo.create(name, dim=16).eval()
    (ids, *_), step = zoo.example(name, 2), Step(model, ("hidden",))
    state = step.empty(2)
    for place in range(4):
        scores, *state = step(ids[:, place, None], torch.full((2, 1), place), *state)
    torch.testing.assert_close(scores, model(ids[:, :4])[:, -1], rtol=1e-4, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("options", [{}, {"score": "general", "local": "m:2"}, {"feeding": False, "score": "dot"}])
def test_a_source_is_read_once_and_its_padding_not_at_all(options: dict[str, Any]) -> None:
    model: Any = zoo.create("rnn-attention-tiny", dim=16, **options).eval()
    source, lengths, target = zoo.example("rnn-attention-tiny", 2)
    carried, kept = Begin(model).parts(source, lengths)
    step, state = Step(model, tuple(carried), tuple(kept)), list(carried.values())
    for place in range(target.shape[1]):
        position = torch.full((2, 1), place)
        scores, *state = step(target[:, place, None], position, *state, *kept.values())
    torch.testing.assert_close(scores, model(source, lengths, target)[:, -1], rtol=1e-4, atol=1e-5)
