"""Results of a study as tables for the terminal."""

import math
from dataclasses import replace

from rich.table import Table
from rich.text import Text

from zoo.bench.decision.bootstrap import Interval
from zoo.bench.decision.curve_fit import Crossover
from zoo.bench.learning_curve.results.compute import cost_text
from zoo.bench.learning_curve.results.entries import ModelEntry
from zoo.bench.learning_curve.results.study import Study
from zoo.names import counted

KIND_NAMES = {"convolution": "CNN", "attention": "self-attention", "hybrid": "hybrid", "recurrent": "RNN"}
_STARTS = {"scratch": "", "pretrained": ", pretrained", "probe": ", linear probe"}


def accuracy_table(study: Study) -> Table:
    """Lay out the test score ± half its 95 % interval, a row for each size, and the costs below."""
    table = Table(title=f"Test {study.data.measure} by number of training examples: {study.data.name}")
    table.add_column("examples", justify="right", overflow="fold")
    table.add_column("steps", justify="right")
    for entry in study.models:
        table.add_column(f"{entry.name}\n{kind_text(entry)}", justify="right", overflow="fold")
    for size, steps in study.steps.items():
        cells = [
            Text(_cell(study, entry.name, size), style="dim" if study.at_chance(entry.name, size) else "")
            for entry in study.models
        ]
        table.add_row(f"{size:,}", f"{steps:,}", *cells)
    if any(study.at_chance(*point) for point in study.points):
        table.caption = f"grey: at chance, which is {study.data.chance:.3f}"
    table.add_section()
    for label, values in costs(study).items():
        table.add_row(label, "", *values)
    return table


def kind_text(entry: ModelEntry) -> str:
    """Say what kind of model it is, and from what it is trained."""
    return KIND_NAMES[entry.kind] + _STARTS[entry.recipe.start]


def score_text(study: Study, point: Interval) -> str:
    """Write a test score ± half its interval."""
    return str(replace(point, value=study.data.shown(point.value)))


def costs(study: Study) -> dict[str, list[str]]:
    """Give what each model costs: label to one text for each."""
    return {
        "parameters": [f"{c.parameters / 1e3:,.0f} k" if c.parameters else "-" for c in study.models],
        "multiply-adds": [f"{c.multiply_adds / 1e6:,.2f} M" if c.parameters else "-" for c in study.models],
        "examples/s": [f"{c.examples_per_second:,.0f}" if c.parameters else "-" for c in study.models],
        "learning rate": [f"{c.learning_rate:.2g}" for c in study.models],
    }


def conclusion(study: Study) -> list[str]:
    """State what was found about the main question and for every pair with a CNN, a sentence each."""
    if lines := _nothing_learned(study):
        return lines
    return [_sentence(study, first, second) for first, second in pairs(study) if study.sizes_of(first, second)]


def missing(study: Study) -> list[str]:
    """Name what is not there: failed runs and points on fewer seeds than asked for."""
    lines = [
        f"{r['config']['model']} at {r['config']['size']:,}, seed {r['config']['seed']} failed: {r['error']}"
        for r in study.failures
    ]
    counts = [(c.name, size, len(study.runs(c.name, size))) for size in study.sizes for c in study.models]
    wanted = counted(study.seeds, "seed")
    return lines + [f"{name} at {size:,} has {n} of {wanted}" for name, size, n in counts if n < study.seeds]


def round_size(size: float) -> str:
    """Write a size with two digits that count."""
    if not math.isfinite(size) or size <= 0:
        return str(size)
    return f"{round(size, 1 - math.floor(math.log10(size))):,.0f}"


def describe(crossover: Crossover, largest: int) -> str:
    """Put a crossing into a few words."""
    if crossover.size is None:
        return "throughout" if crossover.kind == "always" else f"none up to {largest:,}"
    words = _where(crossover.size, largest)
    return f"{words}, extrapolated beyond {largest:,}" if crossover.kind == "extrapolated" else words


def describe_cost(cost: Interval, axis: str) -> str:
    """Put the cost at which two models cross into a few words."""
    low = cost_text(cost.low, axis) if cost.low > 0 else "below the smallest"
    high = cost_text(cost.high, axis) if math.isfinite(cost.high) else "beyond the largest"
    return f"{cost_text(cost.value, axis)} (95 %: {low} to {high})"


def _nothing_learned(study: Study) -> list[str]:
    """Say so where no model has left chance; empty where one has."""
    names = [entry.name for entry in study.models if study.sizes_of(entry.name)]
    if not names or not all(map(study.at_chance, names)):
        return []
    means = [study.points[name, size].value for name in names for size in study.sizes_of(name)]
    found = f"{min(means):.3f}" if min(means) == max(means) else f"{min(means):.3f} to {max(means):.3f}"
    who = "All models are" if len(names) > 1 else f"{names[0]} is"
    few = max(map(study.too_few_tests, names))
    unclear = "No model is clearly" if len(names) > 1 else f"{names[0]} is not clearly"
    return [
        f"{unclear} above chance: the test set of {counted(few, 'example')} is too small to tell; "
        "more test examples are needed, not more steps."
        if few
        else f"{who} at chance: more steps or examples are needed.",
        f"Test accuracy is {found}; always answering the largest class gives {study.data.chance:.3f}.",
    ]


def pairs(study: Study) -> list[tuple[str, str]]:
    """Give the two of the main question, and the first of them with each other model."""
    main = study.pair()
    if main is None:
        return []
    others = [c.name for c in study.models if c.name not in main]
    return [main, *((main[0], name) for name in others)]


def _sentence(study: Study, first: str, second: str) -> str:
    """State what was found about two models, and which of them has learned nothing."""
    idle = [name for name in (first, second) if study.at_chance(name)]
    if len(idle) == 2:
        return f"{first} and {second} are at chance at every size: more steps or examples are needed."
    found = _comparison(study, first, second)
    return f"{found} {idle[0]} is at chance at every size: it needs more steps or examples." if idle else found


def _comparison(study: Study, first: str, second: str) -> str:
    crossover, clear = study.crossover(first, second), study.clear(first, second)
    sizes = study.compared(first, second) or study.sizes_of(first, second)
    low, high = f"{sizes[0]:,}", f"{sizes[-1]:,}"
    if crossover is None:
        where = f"from {low} to {high}" if len(sizes) > 1 else f"at {high}"
        return f"{first} and {second} cannot be told apart {where} examples: no difference is clear."
    if crossover.kind == "always":
        where = f"every size from {low} to {high}" if len(sizes) > 1 else high
        return f"{second} is ahead of {first} at {where} examples."
    if crossover.kind == "measured":
        where = describe(crossover, sizes[-1])
        return f"{second} overtakes {first} at about {where} training examples."
    if not clear[-1]:
        return f"{first} and {second} cannot be told apart at the largest size, {high} examples."
    behind = [study.points[first, n].value >= study.points[second, n].value for n in sizes]
    throughout = "at every size" if sizes == study.sizes_of(first, second) else f"from {low} on"
    ahead = throughout if all(behind) else "at the largest size"
    found = f"{first} is ahead of {second} {ahead}, up to {high} examples: no crossing was measured."
    if len(sizes) < 3 or study.at_chance(first) or study.at_chance(second):
        return found
    if crossover.size is None:
        return f"{found} The fitted curves do not cross either."
    return f"{found} {extrapolated(study, first, second, crossover.size)}"


def extrapolated(study: Study, first: str, second: str, size: Interval) -> str:
    """State a crossing beyond the data with its back-test, or say that there is none."""
    check, largest = study.check_crossing(first, second), study.sizes[-1]
    if check is None:
        return "None is extrapolated, since the smaller sizes give no back-test of it."
    before = study.sizes[-2]
    expected = f"one at about {_where(check.predicted, before)}" if check.predicted else "none"
    seen = f"one at about {round_size(check.measured)}" if check.measured else "none"
    outcome = "held" if check.held else "failed"
    return (
        f"Extrapolated, the fitted curves cross at about {_where(size, largest)}. Back-test: the sizes up to "
        f"{before:,} predict {expected}, and {seen} was measured up to {largest:,}: that prediction {outcome}."
    )


def _cell(study: Study, name: str, size: int) -> str:
    point = study.points.get((name, size))
    if point is None:
        failed = any((r["config"]["model"], r["config"]["size"]) == (name, size) for r in study.failures)
        return "failed" if failed else "-"
    return score_text(study, point)


def _where(size: Interval, largest: int) -> str:
    return f"{round_size(size.value)} (95 %: {_range(size, largest)})"


def _range(size: Interval, largest: int) -> str:
    if size.low >= largest and not math.isfinite(size.high):
        return f"anywhere beyond {largest:,}"
    low = round_size(size.low) if size.low > 0 else "below the smallest"
    high = round_size(size.high) if math.isfinite(size.high) else f"beyond {largest:,}"
    return f"{low} to {high}"
