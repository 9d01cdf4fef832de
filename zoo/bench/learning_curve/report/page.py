"""The page of a study: one HTML file with figure, tables, recipes and a script that draws, and no request at all."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from zoo.bench.decision.bootstrap import Interval
from zoo.bench.learning_curve.report.chart import chart
from zoo.bench.learning_curve.report.measures_table import class_rows, compute_rows
from zoo.bench.learning_curve.report.recipe_text import recipe_text
from zoo.bench.learning_curve.report.table import (
    conclusion,
    costs,
    describe,
    extrapolated,
    kind_text,
    missing,
    score_text,
)
from zoo.bench.learning_curve.results.compute import axes_of
from zoo.bench.learning_curve.results.study import Study
from zoo.bench.study.marks import marks
from zoo.pages.parts import script, style

_FOLDER = Path(__file__).parent
SCRIPTS = tuple(_FOLDER / f"{name}.js" for name in ("figure_file", "page"))
"""Files of the script, in their order."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of the page; the first cell of each row is its heading, cells are text or markup.

    Args:
        label: what it holds, for screen readers.
        rows: of the values.
        extra: rows below a line.
    """

    label: str
    head: list[str]
    rows: list[list[str]]
    extra: list[list[str]]


def page(study: Study, command: str, svg: str, decided: Sequence[str] = ()) -> str:
    """Write the page.

    Args:
        study: with the runs there are.
        command: that repeats it.
        svg: the figure, which is shown where no script runs.
        decided: lines of a decision, which come first.
    """
    finished = any("error" not in record for record in study.records)
    return _environment().get_template("page.html").render(
        script=script(SCRIPTS),
        style=Markup(style(_FOLDER / "page.css")),
        study=study,
        title=_title(study),
        found=[*decided, *conclusion(study)] if finished else ["No run has finished."],
        description=_marked(study.data.description),
        svg=Markup(svg[svg.index("<svg") :]),
        chart=chart(study),
        marks=marks(study.kinds),
        kinds={entry.name: kind_text(entry) for entry in study.models},
        scores=_scores(study),
        classes=_classes(study),
        compute=_compute(study),
        at_chance=any(study.at_chance(*point) for point in study.points),
        laws=_laws(study),
        idle=[entry.name for entry in study.models if study.at_chance(entry.name)],
        crossover=_crossover(study),
        recipes=[(entry.name, recipe_text(study, entry)) for entry in study.models],
        reasons={entry.recipe.reason: None for entry in study.models},
        tuning=_tuning(study),
        tuning_notes=_tuning_notes(study),
        missing=missing(study),
        command=command,
    )  # fmt: skip


def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _title(study: Study) -> str:
    kinds = {entry.kind for entry in study.models if entry.recipe.start == "scratch"}
    if {"convolution", "attention"} <= kinds:
        return "How many training examples until self-attention beats a CNN?"
    return f"Test {study.data.measure} by number of training examples"


def _marked(text: str) -> Markup:
    """Set what stands between backticks as code."""
    return Markup(re.sub(r"`(.+?)`", r"<code>\1</code>", str(escape(text))))


def _scores(study: Study) -> Table:
    rows = []
    for size, steps in study.steps.items():
        points = {entry.name: study.points.get((entry.name, size)) for entry in study.models}
        cells = [_score(study, name, size, point) if point else "-" for name, point in points.items()]
        rows.append([f"{size:,}", f"{steps:,}", *cells])
    kinds = [kind_text(entry) for entry in study.models]
    return Table(
        label=f"Test {study.data.measure} by training examples",
        head=["examples", "steps", *(entry.name for entry in study.models)],
        rows=rows,
        extra=[["kind", "", *kinds], *([label, "", *values] for label, values in costs(study).items())],
    )


def _classes(study: Study) -> Table:
    head = ["examples", "measure", *(entry.name for entry in study.models)]
    return Table(label="Measures by class", head=head, rows=class_rows(study), extra=[])


def _compute(study: Study) -> list[Table]:
    """Lay out, for each cost that all runs tell, who is best for a few budgets."""
    names = [entry.name for entry in study.models]
    return [
        Table(label=f"Best by {title}", head=["at most", "best", *names], rows=compute_rows(study, axis), extra=[])
        for axis, title in axes_of(study).items()
    ]


def _score(study: Study, name: str, size: int, point: Interval) -> str:
    text = score_text(study, point)
    return Markup('<span class="quiet">{}</span>').format(text) if study.at_chance(name, size) else text


def _laws(study: Study) -> Table:
    rows = []
    for entry in study.models:
        if law := study.fit(entry.name):
            parts = [f"{p.value:z.3g} ({p.low:z.3g} to {p.high:z.3g})" for p in (law.a, law.b, law.c)]
            rows.append([entry.name, *parts, f"{100 * law.misfit:.1f} %"])
    return Table(label="Power laws", head=["", "a", "b", "c", "misfit"], rows=rows, extra=[])


def _crossover(study: Study) -> str:
    pair, found = study.pair(), study.crossover()
    if pair is None:
        return ""
    if found and found.kind == "extrapolated" and found.size:
        words = f"none up to {study.sizes[-1]:,}. {extrapolated(study, *pair, found.size)}"
    else:
        words = f"{describe(found, study.sizes[-1])}." if found else "none, no difference between them is clear."
    return f"Crossover of {' and '.join(pair)}: {words}"


def _tuning(study: Study) -> Table:
    """Lay out the validation score of every learning rate, and what the choice cost."""
    tuned = {entry.name: entry.tuning for entry in study.models if entry.tuning}
    rates = sorted({rate for tuning in tuned.values() for rate, _ in tuning.scores})
    rows = []
    for name, tuning in tuned.items():
        cells = [_validated(study, dict(tuning.scores), rate, tuning.learning_rate) for rate in rates]
        where = "the package" if tuning.kept else "this study"
        budget = [f"{tuning.runs}", f"{tuning.seconds:,.0f}", f"{tuning.size:,}", f"{tuning.steps:,}", where]
        rows.append([name, *cells, *budget])
    head = ["", *(f"{rate:g}" for rate in rates), "runs", "seconds", "examples", "steps", "chosen in"]
    return Table(label=f"Validation {study.data.measure} by learning rate", head=head, rows=rows, extra=[])


def _validated(study: Study, scores: Mapping[float, float | None], rate: float, chosen: float) -> str:
    if rate not in scores:
        return "-"
    score = scores[rate]
    text = "failed" if score is None else f"{study.data.shown(score):.3f}"
    return Markup("<b>{}</b>").format(text) if rate == chosen else text


def _tuning_notes(study: Study) -> list[str]:
    tuned: dict[str, Any] = {entry.name: entry.tuning for entry in study.models if entry.tuning}
    untuned = [entry.name for entry in study.models if not entry.tuning]
    edge = [name for name, tuning in tuned.items() if tuning.at_edge]
    lines = []
    grid = "one grid" if len({entry.recipe.rates for entry in study.models}) == 1 else "as many rates"
    if tuned:
        lines.append(
            f"Mean validation {study.data.measure} by learning rate, the chosen one bold: {grid} and one budget for "
            "every contestant, on seeds that the study does not use. Pilot runs are not tested, so that no setting was "
            "chosen on test examples."
        )
    if untuned:
        lines.append(f"No rate was chosen for {', '.join(untuned)}: it is the recipe's.")
    if edge:
        lines.append(f"At the edge of the grid, so that a better rate may lie beyond: {', '.join(edge)}.")
    return lines
