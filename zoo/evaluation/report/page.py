"""The report of an evaluation: one HTML page with figures and examples, without a script and without a request."""

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from zoo.bench.decision.bootstrap import Interval
from zoo.evaluation.judge import LOWER
from zoo.evaluation.report.worst import Shown
from zoo.pages.parts import style

if TYPE_CHECKING:
    from zoo.evaluation.evaluation import Evaluation

ASSETS = Path(__file__).parent / "assets"
SIDE = 240
"""Pixels of a drawn graph."""
ROWS = 100
"""Rows of a table that are shown."""


def page(evaluation: "Evaluation", command: str = "") -> str:
    """Write the page.

    Args:
        evaluation: what was found.
        command: that makes the page again; shown at its end.
    """
    title = f"{evaluation.run} on {evaluation.data}"
    parts = [_scores(evaluation), _groups(evaluation), *_of_judge(evaluation), _worst(evaluation)]
    return Template((ASSETS / "page.html").read_text(encoding="utf-8")).substitute(
        title=escape(title),
        style=style(ASSETS / "page.css"),
        facts=_facts(evaluation),
        notes="".join(f"<p class=note>{escape(note)}</p>" for note in evaluation.notes),
        parts="\n".join(filter(None, parts)),
        command=f"<p class=quiet>Made by <code>{escape(command)}</code></p>" if command else "",
    )


def _facts(evaluation: "Evaluation") -> str:
    facts = {"model": evaluation.model, "data": evaluation.data, "split": evaluation.split}
    facts["judged"] = f"{evaluation.count:,}"
    return "".join(f"<div><dt>{name}</dt><dd>{escape(value)}</dd></div>" for name, value in facts.items())


def _scores(evaluation: "Evaluation") -> str:
    settings = evaluation.settings
    rows = [
        [name, number(one.value), _ends(one), "" if name in LOWER else _bar(one)]
        for name, one in evaluation.scores.items()
    ]
    told = (
        f"<p class=quiet>The interval holds 95 of 100 scores of {settings['samples']:,} sets of examples drawn with "
        f"replacement (bootstrap, seed {settings['seed']}).</p>"
    )
    made = table(("score", "value", "interval", ""), rows, escaped=False) + told if rows else ""
    told_above = {(name.removeprefix("log "), number(one.value)) for name, one in evaluation.scores.items()}
    further = [(name, number(value)) for name, value in evaluation.own.items()]
    own = [[escape(name), value] for name, value in further if (name, value) not in told_above]
    if own:
        made += "<h3>Scores that the data give themselves</h3>" + table(("score", "value"), own, escaped=False)
    return f"<section><h2>Scores</h2>{made}</section>"


def _groups(evaluation: "Evaluation") -> str:
    if not evaluation.by:
        return ""
    names = list(evaluation.scores)
    counts = {name: sum(str(cell) == name or (cell is None and name == "(empty)") for cell in evaluation.cells)
              for name in evaluation.groups}  # fmt: skip
    rows = [
        [escape(group), f"{counts[group]:,}", *(f"{number(scores[name].value)} <small>{_ends(scores[name])}</small>"
                                                for name in names)]
        for group, scores in evaluation.groups.items()
    ]  # fmt: skip
    told = ", ".join(f"{escape(name)} ({count:,})" for name, count in evaluation.small.items())
    small = f"<p class=quiet>Too small to be judged: {told}.</p>" if told else ""
    made = table((escape(evaluation.by), "examples", *names), rows, escaped=False)
    return f"<section><h2>By {escape(evaluation.by)}</h2>{made}{small}</section>"


def _of_judge(evaluation: "Evaluation") -> Sequence[str]:
    """Give the figures, and the tables behind the scores."""
    from zoo.evaluation.figures import svg

    judge = evaluation.judge
    if judge is None:
        return ()
    drawn = "".join(
        f"<figure>{svg(figure, escape(title, quote=True))}<figcaption>{escape(title)}</figcaption></figure>"
        for title, figure in judge.figures().items()
    )
    tables = [
        f"<section><h2>{escape(each.title)}</h2>"
        + table(each.columns, [[_cell(cell) for cell in row] for row in each.rows[:ROWS]])
        + (f"<p class=quiet>{len(each.rows) - ROWS:,} more.</p>" if len(each.rows) > ROWS else "")
        + "</section>"
        for each in judge.tables()
    ]
    return [f"<section><h2>Figures</h2><div class=figures>{drawn}</div></section>" if drawn else "", *tables]


def _worst(evaluation: "Evaluation") -> str:
    if not evaluation.worst:
        return ""
    cards = "".join(_card(each) for each in evaluation.worst)
    return f"<section><h2>Worst answers</h2><div class=cards>{cards}</div></section>"


def _card(shown: Shown) -> str:
    medium = _medium(shown.medium) if shown.medium else f"<p class=text>{escape(shown.text)}</p>"
    facts = {key: value for key, value in shown.row.items() if key not in ("input", "right")}
    told = "".join(f"<div><dt>{escape(key)}</dt><dd>{escape(_cell(value))}</dd></div>" for key, value in facts.items())
    return (
        f"<article>{medium}<dl>{told}</dl>"
        f"<p class=quiet>{escape(shown.item.split)}, example {shown.item.place + 1:,}</p></article>"
    )


def _medium(medium: dict[str, Any]) -> str:
    """Draw what an input shows, see `zoo.viz.explorer.media`."""
    if medium["kind"] == "picture":
        return f'<img class=picture alt="The input" src="{medium["url"]}">'
    if medium["kind"] == "sound":
        told = f"{medium['seconds']:.2f} s, 0 to {medium['hertz'] / 1000:g} kHz"
        return (
            f'<img class=spectrogram alt="Spectrogram of the input, {told}" src="{medium["url"]}">'
            f'<audio controls src="{medium["wave"]}"></audio>'
        )
    at = [(12 + x * (SIDE - 24), 12 + y * (SIDE - 24)) for x, y in medium["places"][: medium["given"]]]
    joined = [(one, two) for one, two in medium["edges"] if max(one, two) < len(at)]
    lines = "".join(
        f'<line x1="{at[one][0]:.1f}" y1="{at[one][1]:.1f}" x2="{at[two][0]:.1f}" y2="{at[two][1]:.1f}"/>'
        for one, two in joined
    )
    nodes = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5"/>' for x, y in at)
    return f'<svg class=graph role=img aria-label="The input" viewBox="0 0 {SIDE} {SIDE}">{lines}{nodes}</svg>'


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], escaped: bool = True) -> str:
    """Write a table.

    Args:
        columns: headings.
        rows: of texts.
        escaped: whether they are texts, and no elements.
    """
    write = escape if escaped else str
    head = "".join(f"<th scope=col>{write(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{write(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<div class=wide><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def number(value: float) -> str:
    """Write a score with four digits."""
    return "-" if math.isnan(value) else f"{value:.4g}" if abs(value) >= 10 else f"{value:.4f}"


def _cell(value: Any) -> str:
    return number(value) if isinstance(value, float) else f"{value:,}" if type(value) is int else str(value)


def _ends(one: Interval) -> str:
    return f"{number(one.low)} … {number(one.high)}"


def _bar(one: Interval) -> str:
    """Draw an interval of a score in 0 … 1."""
    if not (0 <= one.low <= one.high <= 1):
        return ""
    left, wide = 100 * one.low, max(100 * (one.high - one.low), 0.5)
    return (
        '<svg class=bar viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden=true>'
        f'<rect class=whole width=100 height=10 /><rect class=part x="{left:.2f}" width="{wide:.2f}" height=10 />'
        f'<rect class=point x="{min(100 * one.value, 99.4):.2f}" width=0.6 height=10 /></svg>'
    )
