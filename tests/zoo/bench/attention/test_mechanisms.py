"""Mechanisms of the study: all of about the same size, and the same positions."""

from functools import cache
from typing import Any

import pytest
import torch

from zoo.bench.attention.mechanisms import DEFAULT, FULL, build, is_model, parameters
from zoo.errors import ConfigError

SIZES: dict[str, Any] = {"heads": 4, "vocab_size": 40, "num_classes": 20, "length": 64}
OTHERS = ("retention", "gated-delta", "linformer:16", "sinkhorn:16", "synthesizer:dense", "gru-micro")


@cache
def goal() -> int:
    """Count the parameters of full attention once."""
    return parameters(build(FULL, **SIZES))


@pytest.mark.parametrize("mechanism", [*DEFAULT, *OTHERS, "dilated-cnn-micro", "doubly-stochastic", "longformer:4"])
def test_a_mechanism_has_about_the_parameters_of_full_attention(mechanism: str) -> None:
    assert parameters(build(mechanism, **SIZES)) == pytest.approx(goal(), rel=0.1)


@pytest.mark.parametrize("mechanism", DEFAULT)
def test_a_model_answers_each_token_and_reads_short_rows(mechanism: str) -> None:
    with torch.no_grad():
        answers = build(mechanism, **SIZES).eval()(torch.zeros(2, 12, dtype=torch.long), torch.tensor([12, 3]))
    assert answers.shape == (2, 12, 20)
    assert answers.isfinite().all()


def test_the_weights_follow_from_the_seed_alone() -> None:
    torch.manual_seed(0)
    first = build("delta", **SIZES)
    torch.manual_seed(0)
    build("delta", **SIZES | {"length": 65})
    torch.manual_seed(0)
    second = build("delta", **SIZES)
    assert all((a == b).all() for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_a_mechanism_that_is_made_for_a_length_reads_it_all() -> None:
    model = build("linformer:8", **SIZES | {"length": 700}).eval()
    with torch.no_grad():
        assert model(torch.zeros(1, 700, dtype=torch.long)).shape == (1, 700, 20)


def test_a_token_knows_the_one_before_it_and_none_that_comes() -> None:
    stem: Any = build(FULL, **SIZES).stem
    ids = torch.arange(6)[None]
    other = ids.clone()
    other[0, 2] = 9
    changed = (stem(ids).x != stem(other).x).any(-1)[0]
    assert changed.tolist() == [False, False, True, True, False, False]


def test_models_are_known_from_attentions() -> None:
    assert [is_model(name) for name in ("lstm-micro", "full", "window:16 | globals:0")] == [True, False, False]


def test_an_unknown_mechanism_is_refused_by_its_name() -> None:
    with pytest.raises(ConfigError, match="perfomer"):
        build("perfomer:8", **SIZES)
