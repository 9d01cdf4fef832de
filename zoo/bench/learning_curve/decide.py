"""The decision that a study is for: how many labels a target takes, with which model, in which rounds, at what cost."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from zoo.bench.decision.bootstrap import Interval
from zoo.bench.decision.cost import Cost, Prices, cost_of
from zoo.bench.decision.curve_fit import REACH
from zoo.bench.decision.labels import FAR, Labels, labels_for, rounds
from zoo.bench.decision.selection import LEAST_SIZES
from zoo.bench.learning_curve.plan import steps_for
from zoo.bench.learning_curve.report.table import round_size
from zoo.bench.learning_curve.results.entries import Data
from zoo.bench.learning_curve.results.study import Study
from zoo.errors import ConfigError
from zoo.names import counted


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Tell what to do for a target.

    Args:
        target: test score, as users read it: a loss without its minus sign.
        answers: of every model.
        best: of the model with the lowest cost where prices were given, else with the fewest labels; None where no
            model is expected to reach the target.
        rounds: labels in all after each round of labelling.
        cost: of the best; None where nothing is to be labelled.
        lines: all that in sentences, warnings last.
    """

    target: float
    answers: Sequence[Labels]
    best: Labels | None
    rounds: Sequence[int]
    cost: Cost | None
    lines: Sequence[str]


def check_target(data: Data, target: float) -> None:
    """Refuse a target that needs no model, or that no model may have.

    Raises:
        ConfigError: If it is at or below chance, beyond the best score, or no number.
    """
    score = data.shown(target)  # which takes a minus sign away, or puts it back
    if not math.isfinite(target) or score > data.best:
        percent = f"; {target:g} % is {target / 100:g}" if data.metric == "accuracy" and 2 <= target <= 100 else ""
        bound = "at least" if data.metric.startswith("-") else "at most"
        raise ConfigError(f"target={target:g}: {data.measure} is {bound} {abs(data.best):g}{percent}")
    if data.chance is not None and score <= data.chance:
        raise ConfigError(
            f"target={target:g}: always answering the largest class gives {data.measure} {data.chance:.3f}; "
            "choose a target above that"
        )


def decide(study: Study, target: float, *, label_cost: float | None = None, hour_cost: float | None = None) -> Decision:
    """Find the labels that a test score takes.

    Args:
        study: with its runs.
        target: test score, as users read it.
        label_cost: money for a label.
        hour_cost: money for an hour of training; seconds are those measured, steps those of the study's rule.

    Raises:
        ConfigError: If the target or a price does not fit.
    """
    prices = Prices(label=label_cost, hour=hour_cost)
    check_target(study.data, target)
    error = study.data.best - study.data.shown(target)
    answers = [labels_for(study.curve(entry.name), error) for entry in study.models]
    best, cost = _best(study, answers, prices)
    plan: list[int] = []
    if best is None:
        lines = _out_of_reach(study, target, answers)
    elif best.reached:
        lines = _reached(study, target, best)
    else:
        assert best.size
        plan = rounds(study.sizes[-1], best.size)
        lines = [_needed(study, target, best, plan), *_paid(study, cost), *_followed(study, best)]
        lines += [*_others(study, best, answers), *_warnings(study, best)]
    return Decision(target=target, answers=answers, best=best, rounds=plan, cost=cost, lines=lines)


def _best(study: Study, answers: Sequence[Labels], prices: Prices) -> tuple[Labels | None, Cost | None]:
    """Choose a model that has the target, or else may reach it at the lowest cost, or with the fewest labels."""
    possible = [each for each in answers if each.reached] or [each for each in answers if math.isfinite(each.expected)]
    cheapest = min(possible, key=lambda each: each.expected, default=None)
    if cheapest is None or cheapest.reached or not prices.asked:
        return cheapest, None
    found = [(each, _cost(study, each.name, each.size, prices)) for each in possible if each.size]
    return min(found, key=lambda each: each[1].total)


def _cost(study: Study, name: str, size: Interval, prices: Prices) -> Cost:
    last = study.runs(name, study.sizes_of(name)[-1])
    pace = median(run["seconds"] / run["config"]["steps"] for run in last)
    return cost_of(study.sizes[-1], size, prices, lambda total: pace * _steps(study, total), study.seeds)


def _steps(study: Study, size: int) -> int:
    return steps_for(size, study.most_steps or study.steps[study.sizes[-1]])


def _score(study: Study, error: float) -> float:
    return study.data.shown(study.data.best - error)


def _said(study: Study, target: float) -> str:
    return f"{study.data.measure} {target:g}"


def _amount(count: float, most: float = math.inf) -> str:
    if count < 1:
        return "0"
    return round_size(count) if count <= most else f"beyond {round_size(most)}"


def _needed(study: Study, target: float, best: Labels, plan: Sequence[int]) -> str:
    have, size = study.sizes[-1], best.size
    assert size
    most = REACH * have
    low, high = _amount(size.low - have), _amount(size.high - have, most)
    steps = [after - before for before, after in zip([have, *plan], plan, strict=False)]
    parts = [_amount(float(step)) for step in steps]
    listed = " and ".join(part for part in (", ".join(parts[:-1]), parts[-1] if parts else "") if part)
    many = ("at most " if parts[1:] else "") + counted(len(parts), "round")
    turns = f"in {many} of {listed}, with a new decision after each" if parts else "at once"
    return (
        f"For {_said(study, target)}: about {_amount(size.value - have)} more labels (95 %: {low} to {high}) with "
        f"{best.name}, about {_amount(size.value)} in all; {turns}."
    )


def _followed(study: Study, best: Labels) -> list[str]:
    """Tell the family and its held-out error."""
    selection = best.selection
    assert selection
    family = selection.chosen.fits.family
    predicted, measured = (_score(study, error) for error in (selection.predicted, selection.measured))
    lines = [
        f"Curve of {best.name}: {family.name}, err(N) = {family.formula}. Fitted without the largest size, it "
        f"predicts {study.data.measure} {predicted:.3f} at {selection.held_out:,} examples; {measured:.3f} was "
        f"measured, so its held-out error is {abs(predicted - measured):.3f}."
    ]
    if selection.refuted:
        lines.append("No family predicts that size within the noise: the interval is wider by what the nearest missed.")
    if len(study.curve(best.name).sizes) == LEAST_SIZES:
        lines.append(f"{LEAST_SIZES} sizes cannot tell whether the curve has a floor; the interval allows for one.")
    return lines


def _paid(study: Study, cost: Cost | None) -> list[str]:
    if cost is None:
        return []
    parts = [f"{_money(cost.labels)} for labels"] if cost.labels else []
    runs = f"{_hours(cost.hours.value)} of training, {counted(study.seeds, 'run')} after each round"
    parts += [f"{_money(cost.training)} for {runs}"] if cost.training else []
    total = f", {_coins(cost.total)} in all" if len(parts) == 2 else ""
    return [f"Cost: {' and '.join(parts)}{total}."]


def _money(amount: Interval) -> str:
    return f"{_coins(amount.value)} ({_coins(amount.low)} to {_coins(amount.high)})"


def _coins(amount: float) -> str:
    return f"{amount:,.2f}" if amount < 100 else f"{amount:,.0f}"


def _hours(hours: float) -> str:
    return f"{hours:,.1f} hours" if hours >= 1 else f"{60 * hours:,.1f} minutes"


def _others(study: Study, best: Labels, answers: Sequence[Labels]) -> list[str]:
    have, parts = study.sizes[-1], []
    for each in answers:
        if each.size and math.isfinite(each.expected):
            parts.append(f"{each.name} about {_amount(each.expected - have)} more" if each is not best else "")
        else:
            parts.append(f"{each.name} {each.reason or 'is not expected to reach it'}")
    return [f"Others: {'; '.join(filter(None, parts))}."] if any(parts) else []


def _warnings(study: Study, best: Labels) -> list[str]:
    have, size, lines = study.sizes[-1], best.size, list[str]()
    assert size
    if size.high > FAR * have:
        what = "The estimate lies" if size.value > FAR * have else "The upper end lies"
        lines.append(
            f"Warning: {what} beyond {FAR * have:,} examples, {FAR} times the largest size measured: nothing is "
            "promised there. Label in rounds, and decide again."
        )
    batch = next(entry.recipe.batch_size for entry in study.models if entry.name == best.name)
    steps = _steps(study, round(size.value))
    if steps * batch < size.value:
        lines.append(
            f"Warning: the rule for steps gives a training {steps:,} steps of {batch} there, which read "
            f"{steps * batch:,} examples only: raise --steps as labels are added."
        )
    return lines


def _reached(study: Study, target: float, best: Labels) -> list[str]:
    size = round(best.expected)
    point = study.points[best.name, size]
    shown = sorted(map(study.data.shown, (point.low, point.high)))
    said = f"{_said(study, target)} is reached: {best.name} has {study.data.shown(point.value):.3f}"
    lines = [
        f"{said[0].upper()}{said[1:]} (95 %: {shown[0]:.3f} to {shown[1]:.3f}) with {size:,} training examples. "
        "No more labels are needed."
    ]
    if point.low < study.data.shown(target):
        lines.append("Its interval reaches beyond the target: more seeds, or test examples, would make that sure.")
    return lines


def _out_of_reach(study: Study, target: float, answers: Sequence[Labels]) -> list[str]:
    far = FAR * study.sizes[-1]
    followed = [(each.selection.error_at(far), each.name) for each in answers if each.selection]
    stopped = [f"{each.name} {each.reason}" for each in answers if each.reason]
    if not followed:
        return [f"Nothing can be said about labels for {_said(study, target)}: {'; '.join(stopped)}."]
    error, name = min(followed, key=lambda each: each[0].value)
    shown = sorted(_score(study, bound) for bound in (error.low, error.high))
    lines = [
        f"No model is expected to reach {_said(study, target)} with up to {REACH * study.sizes[-1]:,.0f} examples, to "
        "which curves are followed. The best expected at "
        f"{far:,} examples, {FAR} times the largest size measured, is {_score(study, error.value):.3f} "
        f"(95 %: {shown[0]:.3f} to {shown[1]:.3f}), with {name}: choose a target within that, or other models."
    ]
    if shown[0] <= target <= shown[1]:
        lines.append("The target lies in that interval, so that it is not refuted: more seeds, or one size more, tell.")
    return lines + ([f"Not followed: {'; '.join(stopped)}."] if stopped else [])
