"""Which validation is the best: the metric, a smooth score where it is equal, then the later step; and patience."""

import math
from types import SimpleNamespace

import pytest

from zoo.errors import ConfigError
from zoo.training.criterion import Criterion, PlainScores, check_metric, criterion_for, goodness, score_text


def best_of(history: list[dict[str, float]], criterion: Criterion = Criterion()) -> int:
    """Give the place of the best, as the training finds it."""
    best = None
    for place, scores in enumerate(history):
        if criterion.compare(scores, None if best is None else history[best]) >= 0:
            best = place
    assert best is not None
    return best


def test_a_better_metric_wins_whatever_the_loss() -> None:
    assert best_of([{"accuracy": 0.5, "loss": 9.0}, {"accuracy": 0.4, "loss": 1.0}]) == 0


@pytest.mark.parametrize(
    ("name", "scores"),
    [("perplexity", (7078.0, 1593.0, 2000.0)), ("loss", (3.0, 1.0, 2.0)), ("-loss", (-3.0, -1.0, -2.0))],
)
def test_a_metric_at_its_floor_leaves_the_choice_to_a_smooth_score(name: str, scores: tuple[float, ...]) -> None:
    assert best_of([{"BLEU": 0.0, "exact match": 0.0, name: score} for score in scores]) == 1


def test_a_corpus_names_smooth_scores_of_its_own() -> None:
    criterion = criterion_for(SimpleNamespace(smooth=("-character error rate",)))
    history = [{"-word error rate": -1.0, "-character error rate": -rate, "loss": rate} for rate in (1.0, 0.57, 0.9)]
    assert best_of(history, criterion) == 1
    assert criterion.names({"loss": 1.0, "perplexity": 1.0}) == ["loss", "perplexity"]
    assert criterion_for(SimpleNamespace()) == Criterion()


def test_where_all_is_equal_the_later_is_better() -> None:
    assert best_of([{"accuracy": 1.0}] * 3) == 2
    assert best_of([{"accuracy": 1.0, "loss": 0.5}] * 3) == 2


def test_what_is_not_a_number_is_never_better() -> None:
    assert best_of([{"accuracy": 0.1}, {"accuracy": math.nan}]) == 0
    assert best_of([{"accuracy": math.nan}, {"accuracy": 0.1}][::-1]) == 0
    assert best_of([{"accuracy": 0.1, "loss": 1.0}, {"accuracy": 0.1, "loss": math.nan}]) == 0
    assert Criterion().compare({"accuracy": math.nan}, None) == -1


def test_patience_does_not_count_before_a_score_has_moved() -> None:
    criterion = Criterion()
    assert criterion.waited([{"accuracy": 0.1}] * 9) == 0
    assert criterion.waited([{"accuracy": 0.1}] * 4 + [{"accuracy": 0.2}] + [{"accuracy": 0.2}] * 3) == 3
    assert criterion.waited([{"accuracy": 0.1}, {"accuracy": 0.05}, {"accuracy": 0.1}]) == 2


def test_patience_counts_the_smooth_score_where_the_metric_is_equal() -> None:
    falling = [{"BLEU": 0.0, "perplexity": 9.0 - step} for step in range(6)]
    assert Criterion().waited(falling) == 0
    rising = [{"BLEU": 0.0, "perplexity": 9.0 + step} for step in range(6)]
    assert Criterion().waited(rising) == 5
    assert Criterion().waited([{"BLEU": 4.0, "perplexity": 9.0}, *falling]) == 6


def test_a_metric_is_chosen_with_or_without_its_minus_sign() -> None:
    history = [{"accuracy": 0.9, "-loss": -2.0}, {"accuracy": 0.1, "-loss": -1.0}]
    assert best_of(history, Criterion("loss")) == best_of(history, Criterion("-loss")) == 1
    assert Criterion("loss").names(history[0]) == ["-loss"]
    assert best_of(history, Criterion("accuracy")) == 0


def test_an_unknown_metric_is_an_error_that_lists_the_scores() -> None:
    told = r"metric='perplexty' is none of the scores of these data: BLEU, perplexity\..*perplexity"
    with pytest.raises(ConfigError, match=told):
        check_metric("perplexty", ["BLEU", "-perplexity"])
    with pytest.raises(ConfigError, match="metric='CER' is none of the scores"):
        Criterion("CER").compare({"accuracy": 0.1}, None)


@pytest.mark.parametrize(
    ("best", "others", "reason"),
    [
        ({"accuracy": 0.5, "loss": 2.0}, [{"accuracy": 0.25, "loss": 1.0}], "by accuracy 0.5000"),
        (
            {"BLEU": 0.0, "perplexity": 1593.0},
            [{"BLEU": 0.0, "perplexity": 7078.0}],
            "by perplexity 1593.0000, at equal BLEU 0.0000",
        ),
        (
            {"-word error rate": -1.0, "-loss": -2.0},
            [{"-word error rate": -1.0, "-loss": -2.0}, {"-word error rate": -2.0, "-loss": -2.0}],
            "the last of 2 validations with equal word error rate 1.0000 and loss 2.0000",
        ),
        ({"accuracy": 1.0}, [], "by accuracy 1.0000"),
    ],
)
def test_the_reason_names_what_decided(best: dict[str, float], others: list[dict[str, float]], reason: str) -> None:
    assert Criterion().reason(best, others) == reason


def test_scores_are_listed_with_those_first_that_decide() -> None:
    scores = {"BLEU": 1.0, "exact match": 0.0, "token accuracy": 0.5, "perplexity": 9.0}
    assert [name for name, _ in Criterion().shown(scores)][:2] == ["BLEU", "perplexity"]
    assert [name for name, _ in Criterion("token accuracy").shown(scores)][:2] == ["token accuracy", "perplexity"]


@pytest.mark.parametrize(
    ("name", "label"),
    [("perplexity", "-perplexity"), ("-loss", "-loss"), ("r2", "r2"), ("length error", "-length error")],
)
def test_a_score_is_turned_round_where_lower_is_better(name: str, label: str) -> None:
    assert Criterion().label({name: 3.0}) == label
    assert goodness(name, 3.0) == (-3.0 if label != name else 3.0)


def test_people_read_a_perplexity_as_it_is() -> None:
    assert score_text("-perplexity", -231.6) == "perplexity 231.6000"
    assert score_text("accuracy", 0.5) == "accuracy 0.5000"


def test_scores_of_a_training_are_named_and_signed_as_they_are() -> None:
    scores = PlainScores({"accuracy": 0.5, "-loss": -2.0})
    assert scores == {"accuracy": 0.5, "loss": 2.0}
    assert scores["-loss"] == scores.get("-loss") == -2
    assert "-loss" in scores
    assert "loss" in scores
    assert [*scores] == ["accuracy", "loss"]
    for absent in ("perplexity", "-perplexity", "-", "--loss"):
        with pytest.raises(KeyError, match=f"'{absent}'"):
            scores[absent]
        assert absent not in scores
        assert scores.get(absent) is None
        assert scores.get(absent, 7.0) == 7


def test_short_names_of_scores_are_taken() -> None:
    assert Criterion("wer").names({"accuracy": 1.0, "-word error rate": -0.5}) == ["-word error rate"]
