"""`Criterion`: which validation is the best, from the scores of each. Imports no torch.

The metric comes first. Where it is equal, a smooth score decides, such as the loss or the perplexity, which moves while
the metric is still at its floor. Where that is equal too, the later step is better.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zoo.errors import ConfigError
from zoo.names import did_you_mean

Scores = Mapping[str, float]
SMOOTH = ("loss", "perplexity")
"""Scores that decide where the metric is equal, of any corpus that gives them."""
_LOWER = ("loss", "perplexity", "error")
"""Last words of names whose score is better where it is lower, besides those that begin with a minus sign."""
_SHORT = {"wer": "word error rate", "cer": "character error rate", "ppl": "perplexity", "acc": "accuracy"}


@dataclass(frozen=True)
class Criterion:
    """Order of validations by their scores.

    Args:
        metric: name of the score that chooses, with or without the minus sign of its name; the first score if empty.
        smooth: names of the scores that decide where the metric is equal, in this order.
    """

    metric: str = ""
    smooth: tuple[str, ...] = SMOOTH

    def names(self, scores: Scores) -> list[str]:
        """Return the names of the metric and of the smooth scores, as far as there are any.

        Raises:
            ConfigError: If the metric is none of the scores.
        """
        known = {plain(name): name for name in scores}
        wanted = plain(self.metric or next(iter(scores), ""))
        check_metric(wanted, scores)
        return [known[name] for name in dict.fromkeys([wanted, *map(plain, self.smooth)]) if name in known]

    def compare(self, new: Scores, best: Scores | None) -> int:
        """Return 1 where a validation is better than the best before it, 0 where all that decides is equal, else -1.

        A score that is not a number is never better.
        """
        names = self.names(new)
        if best is None:
            return 1 if new[names[0]] == new[names[0]] else -1
        for name in names:
            if name in best and (one := goodness(name, new[name])) != (other := goodness(name, best[name])):
                return 1 if one > other else -1
        return 0

    def waited(self, history: Sequence[Scores]) -> int:
        """Count the validations since the last that was better than all before.

        It stays 0 until the metric or a smooth score has moved: a metric at its floor says nothing yet.
        """
        best, moved, waited = None, False, 0
        for scores in history:
            order = self.compare(scores, best)
            moved = moved or order < 0 or (order > 0 and best is not None)
            waited = 0 if order > 0 or not moved else waited + 1
            best = scores if order >= 0 else best
        return waited

    def reason(self, best: Scores, others: Sequence[Scores]) -> str:
        """Say by which score a validation is the best of all."""
        names = self.names(best)
        texts, equal = [score_text(name, best[name]) for name in names], list(others)
        for at, name in enumerate(names):
            equal = [each for each in equal if each.get(name) == best[name]]
            if not equal:
                return f"by {texts[at]}" + (f", at equal {' and '.join(texts[:at])}" if at else "")
        return f"the last of {len(equal) + 1} validations with equal {' and '.join(texts)}"

    def label(self, scores: Scores) -> str:
        """Return the name of the metric as it is drawn, with a minus sign where it is turned round."""
        name = self.names(scores)[0]
        return name if goodness(name, 1.0) > 0 else f"-{name}"

    def shown(self, scores: Scores) -> Iterator[tuple[str, float]]:
        """Give the scores with those first that decide."""
        for name in dict.fromkeys([*self.names(scores), *scores]):
            yield name, scores[name]


@dataclass(frozen=True)
class FirstOfEqual(Criterion):
    """Order of validations by the metric alone; of equal ones the first is the best."""

    smooth: tuple[str, ...] = ()

    def compare(self, new: Scores, best: Scores | None) -> int:
        """Return 1 where a validation is better than the best before it, else -1."""
        return super().compare(new, best) or -1


def plain(name: str) -> str:
    """Return the full name of a score, without the minus sign of one that is negated so that higher is better."""
    return _SHORT.get(name, name).removeprefix("-")


class PlainScores(dict[str, float]):
    """Scores as they are: `loss`, where data name it `-loss` so that higher is better.

    They are found by the name that data, callbacks and run folders have, too.

    Args:
        scores: as the data name them.
    """

    def __init__(self, scores: Scores) -> None:
        super().__init__(
            (name.removeprefix("-"), -score if name.startswith("-") else score) for name, score in scores.items()
        )

    def __missing__(self, name: str) -> float:
        """Give a score by its other name."""
        if name.startswith("-") and super().__contains__(name[1:]):
            return -self[name[1:]]
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        """Tell whether there is a score of this name, or of this other name."""
        return super().__contains__(name) or (
            isinstance(name, str) and name.startswith("-") and super().__contains__(name[1:])
        )

    def get(self, name: str, default: Any = None, /) -> Any:
        """Give a score by either name, the default where there is none."""
        if name not in self:
            return default
        return self[name]


def goodness(name: str, score: float) -> float:
    """Return a score turned round where lower is better."""
    return -score if name.split(" ")[-1] in _LOWER else score


def score_text(name: str, score: float) -> str:
    """Format a score; one that was negated so that higher is better, such as `-perplexity`, is shown as it was."""
    return f"{name[1:]} {-score:.4f}" if name.startswith("-") else f"{name} {score:.4f}"


def check_metric(metric: str, known: Sequence[str] | Scores) -> None:
    """Check that a metric is one of the scores of the data.

    Raises:
        ConfigError: If it is not; the text lists the scores.
    """
    names = [plain(name) for name in known]
    if plain(metric) not in names:
        raise ConfigError(
            f"metric={metric!r} is none of the scores of these data: {', '.join(names)}.{did_you_mean(metric, names)}"
        )


def criterion_for(corpus: Any, metric: str | None = None) -> Criterion:
    """Make the criterion of a corpus, whose `smooth` names scores that decide before the loss and the perplexity."""
    return Criterion(metric or "", tuple(dict.fromkeys((*getattr(corpus, "smooth", ()), *SMOOTH))))
