"""Tables beside the one of scores: measures by class, and who is best for a given compute; for terminal and page."""

from rich.table import Table

from zoo.bench.decision.class_scores import ClassScores
from zoo.bench.learning_curve.report.table import score_text
from zoo.bench.learning_curve.results.compute import Best, best_at, cost_text
from zoo.bench.learning_curve.results.study import Study

NONE = "-"
CLASS_MEASURES = ("balanced accuracy", "worst class", "log-loss")
Row = list[str]


def class_rows(study: Study) -> list[Row]:
    """Give, for each size and measure, the values of the models; no row where the score is no accuracy."""
    if study.data.metric != "accuracy" or not study.points:
        return []
    rows = []
    for size in study.sizes:
        cells = [_class_cells(study, study.class_scores.get((entry.name, size))) for entry in study.models]
        for place, measure in enumerate(CLASS_MEASURES):
            rows.append([f"{size:,}" if place == 0 else "", measure, *(cell[place] for cell in cells)])
    return rows


def compute_rows(study: Study, axis: str) -> list[Row]:
    """Give, for a few budgets of one training, what each model reaches with it, and who is best."""
    names = [entry.name for entry in study.models]
    return [
        [cost_text(best.budget, axis), _leaders(best), *(_affordable(study, best, name) for name in names)]
        for best in best_at(study, axis)
    ]


def class_table(study: Study) -> Table:
    """Lay out the measures by class for the terminal."""
    table = Table(title="Measures by class")
    table.add_column("examples", justify="right")
    table.add_column("measure")
    for entry in study.models:
        table.add_column(entry.name, justify="right", overflow="fold")
    for row in class_rows(study):
        table.add_row(*row)
    return table


def _class_cells(study: Study, scores: ClassScores | None) -> list[str]:
    if scores is None:
        return [NONE] * len(CLASS_MEASURES)
    found = [str(each) if each else NONE for each in (scores.balanced, scores.worst, scores.log_loss)]
    if scores.worst:
        found[1] += f" ({study.data.class_name(scores.worst_class)})"
    return found


def _leaders(best: Best) -> str:
    return best.leaders[0] if len(best.leaders) == 1 else f"not clear: {', '.join(best.leaders)}"


def _affordable(study: Study, best: Best, name: str) -> str:
    size = best.sizes.get(name)
    return NONE if size is None else f"{score_text(study, study.points[name, size])} ({size:,})"
