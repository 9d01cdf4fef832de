"""Report of a study, the files in its folder: results.csv, summary.json, the figure and a report that stands alone."""

import csv
import html
import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from zoo.atomic_write import write_bytes
from zoo.bench.learning_curve.curve_fit import Interval
from zoo.bench.learning_curve.figure import colours, draw, rendered
from zoo.bench.learning_curve.results import Study
from zoo.bench.learning_curve.table import KIND_NAMES, conclusion, costs, describe, missing, score_text
from zoo.errors import DataError

_COLUMNS = ("model", "size", "seed", "steps", "accuracy", "validation", "best_step", "seconds", "examples_per_second",
            "parameters", "multiply_adds", "learning_rate", "precision", "device", "threads", "error")  # fmt: skip

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem; line-height: 1.25 } h2 { font-size: 1.15rem; margin-top: 2.2rem }
.found { font-size: 1.1rem; border-left: 4px solid #0072B2; padding: .2rem 0 .2rem 1rem; margin: 1rem 0 }
.found p { margin: .3rem 0 } svg { width: 100%; height: auto }
.wide { overflow-x: auto } table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .95rem }
th, td { padding: .3rem .9rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap }
th:first-child, td:first-child { text-align: left }
thead th { border-bottom: 2px solid #888 } tr.first td { border-top: 2px solid #888 }
.quiet { color: #555; font-size: .9rem } td .quiet { font-size: inherit }
code { background: #f3f3f3; padding: 0 .25rem }
"""


def write_report(study: Study, command: str, decided: Sequence[str] = ()) -> list[Path]:
    """Write all files, each whole or not at all; the records themselves are in results.jsonl already.

    Args:
        study: with the runs there are.
        command: that repeats it, for the report.
        decided: lines of a decision, which come first.

    Raises:
        DataError: If a file cannot be written, as on a full disk; the others are written.
    """
    files = rendered(draw(study))
    texts = {"results.csv": _csv(study), "summary.json": json.dumps(summary(study, decided), indent=2) + "\n"}
    texts["report.html"] = _page(study, command, files["figure.svg"].decode(), decided)
    files |= {name: text.encode() for name, text in texts.items()}
    failed: dict[str, OSError] = {}
    for name, content in files.items():
        try:
            write_bytes(study.folder / name, content)
        except OSError as error:
            failed[name] = error
    if failed:
        cause = next(iter(failed.values()))
        raise DataError(
            f"{', '.join(failed)} in {study.folder} cannot be written: {cause.strerror}. The results are safe in "
            "results.jsonl: make room and run the same command again, which trains nothing and writes the report"
        ) from cause
    return [study.folder / name for name in files]


def summary(study: Study, decided: Sequence[str] = ()) -> dict[str, Any]:
    """Give all that was found as JSON values; what is infinite is null."""
    pair, crossover = study.pair(), study.crossover()
    found = {
        **({"decision": list(decided)} if decided else {}),
        "found": conclusion(study),
        "data": asdict(study.data),
        "seeds": study.seeds,
        "steps": {str(size): steps for size, steps in study.steps.items()},
        "contestants": {c.name: {**asdict(c), **_results(study, c.name)} for c in study.models},
        "crossover": crossover and {"first": pair and pair[0], "second": pair and pair[1], **asdict(crossover)},
        "missing": missing(study),
    }
    return _finite(found)


def _results(study: Study, name: str) -> dict[str, Any]:
    law = study.fit(name)
    points = {str(size): asdict(study.points[name, size]) for size in study.sizes_of(name)}
    return {"accuracy": points, "fit": law and asdict(law)}


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _csv(study: Study) -> str:
    text = io.StringIO()
    score = "accuracy" if study.data.metric == "accuracy" else "score"
    columns = [score if column == "accuracy" else column for column in _COLUMNS]
    writer = csv.DictWriter(text, columns, extrasaction="ignore", restval="")
    writer.writeheader()
    writer.writerows({**record["config"], **record} for record in study.records)
    return text.getvalue()


def _page(study: Study, command: str, svg: str, decided: Sequence[str]) -> str:
    data = study.data
    found = "".join(f"<p>{html.escape(line)}</p>" for line in (*decided, *conclusion(study)))
    if all("error" in record for record in study.records):
        found = "<p>No run has finished.</p>"
    parts = [
        f"<h1>{_title(study)}</h1>",
        f'<div class="found">{found}</div>',
        f"<p>{_described(data.description)}</p>",
        svg[svg.index("<svg") :],
        f"<h2>Test {html.escape(data.measure)}</h2>",
        _accuracies(study),
        '<p class="quiet">Mean over seeds ± half the 95 % interval (bootstrap over seeds'
        f"{' and test examples' if data.metric == 'accuracy' else ''}). Every "
        "model takes the same optimiser steps at a size; the checkpoint is the best on validation."
        f"{_chance(study)}</p>",
        "<h2>Power laws</h2>",
        _laws(study),
        '<p class="quiet">err(N) = a·N<sup>-b</sup> + c, with 95 % intervals. The misfit is the mean distance of the '
        "points from the curve in percent of the error; a large one says that this is not a power law.</p>",
        "<h2>Recipes</h2>",
        _recipes(study),
        "<h2>Learning rates</h2>",
        _tuning(study),
        *_listed("Missing", missing(study)),
        *_listed("Notes", list(data.notes)),
        f'<p class="quiet">Repeat with <code>{html.escape(command)}</code>. Single runs: results.csv, '
        "results.jsonl; everything above: summary.json.</p>",
    ]
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width"><title>data-size: {html.escape(data.name)}</title><style>{_STYLE}</style></head>'
        f"\n<body>\n{body}\n</body>\n</html>\n"
    )


def _chance(study: Study) -> str:
    if not any(study.at_chance(*point) for point in study.points):
        return ""
    return f" Grey: at chance, not clearly above {study.data.chance:.3f}, that of always answering the largest class."


def _title(study: Study) -> str:
    kinds = {entry.kind for entry in study.models}
    if {"convolution", "attention"} <= kinds:
        return "How many training examples until self-attention beats a CNN?"
    return f"Test {html.escape(study.data.measure)} by number of training examples"


def _described(text: str) -> str:
    return re.sub(r"`(.+?)`", r"<code>\1</code>", html.escape(text))


def _accuracies(study: Study) -> str:
    paint = colours(study)
    head = ["examples", "steps"]
    head += [f'<span style="color:{paint[c.name]}">■</span> {html.escape(c.name)}' for c in study.models]
    rows = []
    for size, steps in study.steps.items():
        points = {c.name: study.points.get((c.name, size)) for c in study.models}
        cells = [_score(study, name, size, point) if point else "-" for name, point in points.items()]
        rows.append([f"{size:,}", f"{steps:,}", *cells])
    kinds = [KIND_NAMES[c.kind] for c in study.models]
    extra = [["kind", "", *kinds], *([label, "", *values] for label, values in costs(study).items())]
    return _table(head, rows, extra)


def _score(study: Study, name: str, size: int, point: Interval) -> str:
    text = score_text(study, point)
    return f'<span class="quiet">{text}</span>' if study.at_chance(name, size) else text


def _laws(study: Study) -> str:
    rows = []
    for entry in study.models:
        if law := study.fit(entry.name):
            parts = [f"{p.value:z.3g} ({p.low:z.3g} to {p.high:z.3g})" for p in (law.a, law.b, law.c)]
            rows.append([html.escape(entry.name), *parts, f"{100 * law.misfit:.1f} %"])
    crossover = study.crossover()
    words = describe(crossover, study.sizes[-1]) if crossover else "none, no difference between them is clear"
    idle = [entry.name for entry in study.models if study.at_chance(entry.name)]
    none = "" if idle else "<p>A fit wants at least three sizes.</p>"
    table = _table(["", "a", "b", "c", "misfit"], rows) if rows else none
    if idle:
        table += f"<p>No curve is fitted to what is at chance at every size: {html.escape(', '.join(idle))}.</p>"
    pair = study.pair()
    return table + (f"<p>Crossover of {html.escape(' and '.join(pair))}: {html.escape(words)}.</p>" if pair else "")


def _recipes(study: Study) -> str:
    """Lay out the hyperparameters; the reasons stand below, where a sentence has a line."""
    rows: list[list[str]] = []
    reasons: dict[str, list[str]] = {}
    for entry in study.models:
        recipe = entry.recipe
        decay, warm = f"{recipe.weight_decay:g}", f"{100 * recipe.warmup:g} %"
        change = "as the data have it" if entry.augment is None else "the source's" if entry.augment else "none"
        rate = f"{entry.learning_rate:.2g}"
        rows.append([html.escape(entry.name), entry.optimizer, rate, decay, f"{recipe.batch_size}", warm, change])
        reasons.setdefault(recipe.reason, []).append(html.escape(entry.name))
    head = ["", "optimiser", "learning rate", "weight decay", "batch", "warm-up", "augmentation"]
    lines = "".join(f"<li>{', '.join(names)}: {reason}</li>" for reason, names in reasons.items())
    return f'{_table(head, rows)}\n<ul class="quiet">{lines}</ul>'


def _tuning(study: Study) -> str:
    """Lay out how each learning rate was chosen, and the budget of that."""
    tuned = {entry.name: entry.tuning for entry in study.models if entry.tuning}
    rates = sorted({rate for tuning in tuned.values() for rate, _ in tuning.scores})
    rows = []
    for name, tuning in tuned.items():
        scores = dict(tuning.scores)
        cells = [_validated(study, scores, rate, tuning.learning_rate) for rate in rates]
        where = "the package" if tuning.kept else "this study"
        budget = [f"{tuning.runs}", f"{tuning.seconds:,.0f}", f"{tuning.size:,}", f"{tuning.steps:,}", where]
        rows.append([html.escape(name), *cells, *budget])
    untuned = [html.escape(entry.name) for entry in study.models if not entry.tuning]
    lines = [f"No rate was chosen for {', '.join(untuned)}: it is the recipe's."] if untuned else []
    edge = [html.escape(name) for name, tuning in tuned.items() if tuning.at_edge]
    lines += [f"At the edge of the grid, so that a better rate may lie beyond: {', '.join(edge)}."] if edge else []
    head = ["", *(f"{rate:g}" for rate in rates), "runs", "seconds", "examples", "steps", "chosen in"]
    said = f"""Mean validation {html.escape(study.data.measure)} by learning rate, the chosen one bold: one grid and \
one budget for every contestant, on seeds that the study does not use. Pilot runs are not tested, so that no setting \
was chosen on test examples. {" ".join(lines)}"""
    return (_table(head, rows) if rows else "") + f'<p class="quiet">{said if rows else " ".join(lines)}</p>'


def _validated(study: Study, scores: Mapping[float, float | None], rate: float, chosen: float) -> str:
    if rate not in scores:
        return "-"
    score = scores[rate]
    text = "failed" if score is None else f"{study.data.shown(score):.3f}"
    return f"<b>{text}</b>" if rate == chosen else text


def _table(head: list[str], rows: list[list[str]], extra: list[list[str]] | None = None) -> str:
    def line(cells: list[str], kind: str = "") -> str:
        return f"<tr{kind}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"

    lines = [line(row) for row in rows]
    lines += [line(row, ' class="first"' if i == 0 else "") for i, row in enumerate(extra or [])]
    top = "".join(f"<th>{cell}</th>" for cell in head)
    inner = "\n".join(lines)
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>\n{inner}\n</tbody></table></div>'


def _listed(title: str, lines: list[str]) -> list[str]:
    if not lines:
        return []
    return [f"<h2>{title}</h2>", "<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in lines) + "</ul>"]
