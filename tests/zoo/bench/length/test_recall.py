"""The task of remembering: what it asks, and who can answer."""

from typing import Any

import pytest
import torch

from zoo.bench.length.families import FAMILIES, WINDOW
from zoo.bench.length.recall import CHANCE, CUES, NOISE, QUESTION, build, draw, train


def config(family: str, distance: int, **options: Any) -> dict[str, Any]:
    return {"family": family, "distance": distance, "steps": 200, "learning_rate": 3e-3, "seed": 0} | options


def test_the_cue_is_told_once_at_the_distance_and_the_question_comes_last() -> None:
    ids, cues = draw(200, 9, torch.Generator().manual_seed(0))
    assert ids.shape == (200, 10)
    assert (ids[:, 0] == cues).all()
    assert (ids[:, -1] == QUESTION).all()
    assert set(ids[:, 1:-1].unique().tolist()) == set(range(CUES, CUES + NOISE))
    assert set(cues.tolist()) == set(range(CUES))


def test_the_same_seed_draws_the_same_sequences() -> None:
    first, second, other = (draw(5, 20, torch.Generator().manual_seed(seed))[0] for seed in (1, 1, 2))
    assert (first == second).all()
    assert (first != other).any()


def test_all_families_have_about_the_same_number_of_parameters() -> None:
    sizes = [sum(parameter.numel() for parameter in build(family).parameters()) for family in FAMILIES]
    assert max(sizes) < 1.1 * min(sizes)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_last_answer_depends_on_the_cue_where_it_is_within_reach_only(family: str) -> None:
    model = build(family).eval()
    for distance, seen in ((2 * WINDOW, True), (2 * WINDOW + 1, not family.startswith("window"))):
        ids, _ = draw(1, distance, torch.Generator().manual_seed(0))
        other = ids.clone()
        other[0, 0] = (ids[0, 0] + 1) % CUES
        assert bool((model(ids)[0, -1] != model(other)[0, -1]).any()) == seen


def test_a_training_gives_the_same_on_every_call() -> None:
    first, second = (train(config("GRU", 3, steps=4)) for _ in range(2))
    assert first == second
    assert first["steps_taken"] == 4


@pytest.mark.slow
def test_full_attention_solves_what_a_narrow_window_can_only_guess() -> None:
    distance = 2 * WINDOW + 8
    solved = train(config("full attention", distance))
    assert solved["accuracy"] > 0.98
    assert solved["steps_taken"] < 200
    guessed = train(config(f"window of {WINDOW}", distance))
    assert abs(guessed["accuracy"] - CHANCE) < 0.06  # four standard deviations of 512 guesses
