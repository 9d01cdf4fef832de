"""`int8_quality`: figures that int8 weights change, against their definitions."""

from typing import Any

import pytest
import torch
from torch import nn

import zoo
from zoo.bench import int8_quality
from zoo.core import evaluating
from zoo.errors import ConfigError

SIZES: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 24}


def test_perplexity_of_a_language_model_that_learnt_is_kept() -> None:
    torch.manual_seed(0)
    model: Any = zoo.create("decoder-tiny", vocab_size=12, **SIZES)
    ids = torch.arange(3, 11).repeat(4)[None, :24]  # a text that repeats
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(80):
        loss = nn.functional.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    found = int8_quality(model, [(ids,), (ids[:, :9],)])
    assert found.perplexity is not None
    with evaluating(model.modules()):
        losses = [nn.functional.cross_entropy(model(x)[0, :-1], x[0, 1:], reduction="none") for x in (ids, ids[:, :9])]
    before, after = found.perplexity
    assert before == pytest.approx(float(torch.cat(losses).mean().exp()), rel=1e-5)
    assert before < 2
    assert after != before
    assert after == pytest.approx(before, rel=0.05)
    assert found.scores == 24 + 9
    assert found.agreement > 0.9
    assert 0 < found.largest_error < found.deviation


def test_a_classifier_has_no_perplexity_and_a_writer_is_asked_on_its_own_answer() -> None:
    for name in ("vit-micro", "transformer-tiny"):
        model: Any = zoo.create(name, **SIZES)
        found = int8_quality(model, [zoo.example(name)[:2]])
        assert found.perplexity is None
        before, after = found.megabytes
        assert after < before
        assert 0 <= found.agreement <= 1


def test_no_inputs_and_answers_that_are_no_scores_are_refused() -> None:
    with pytest.raises(ConfigError, match="no inputs"):
        int8_quality(nn.Linear(2, 2), [])

    class Pair(nn.Linear):
        def forward(self, x: torch.Tensor) -> Any:
            return x, x

    with pytest.raises(ConfigError, match="answers with a tuple, not with scores"):
        int8_quality(nn.Sequential(nn.Linear(2, 2), Pair(2, 2)), [(torch.zeros(1, 2),)])
