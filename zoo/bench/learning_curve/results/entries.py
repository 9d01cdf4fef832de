"""What a data-size study is of: its models, with what their runs cost, its data, and the score of a run."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from zoo.bench.grid.engine import Record
from zoo.bench.learning_curve.contestants.recipes import RECIPE, Recipe
from zoo.bench.learning_curve.training.tuning import Tuning
from zoo.data.subsets import Reference
from zoo.spec import Kind


@dataclass(frozen=True, kw_only=True)
class ModelEntry:
    """Describe one model of the study; costs are measured, 0 until a run is done."""

    name: str
    kind: Kind
    learning_rate: float
    optimizer: str = ""
    augment: bool | None = False
    """None where the data leave no choice."""
    parameters: int = 0
    multiply_adds: int = 0
    examples_per_second: float = 0.0
    recipe: Recipe = RECIPE
    tuning: Tuning | None = None
    """How the learning rate was chosen; None where it is the recipe's."""
    weights: str = ""
    """Where the weights are that it starts from; empty where there are none."""

    def tuned(self, tuning: Tuning | None) -> "ModelEntry":
        """Take the learning rate that was chosen, if one was."""
        return replace(self, learning_rate=tuning.learning_rate, tuning=tuning) if tuning else self


@dataclass(frozen=True, kw_only=True)
class Data:
    """Describe the data of the study: among others the metric, and the best value it can have."""

    name: str
    description: str
    num_classes: int
    classes: Sequence[str] = ()
    """Their names."""
    reference: Reference | None = None
    notes: tuple[str, ...] = ()
    metric: str = "accuracy"
    """Higher is better; a name that begins with a minus sign stands for a negated loss, whose best value is 0."""
    best: float = 1.0
    chance: float | None = None
    """Test accuracy of always answering the largest class; None where the metric is no accuracy."""

    def class_name(self, number: int) -> str:
        """Name a class, by its number where it has no other name."""
        return self.classes[number] if number < len(self.classes) else str(number)

    @property
    def measure(self) -> str:
        """Name what `shown` gives."""
        return self.metric.removeprefix("-")

    def shown(self, score: float) -> float:
        """Give a score as users read it: a loss without its minus sign."""
        return -score if self.metric.startswith("-") else score

    @property
    def error_name(self) -> str:
        """Name the distance from the best score, which the figure draws."""
        if self.metric == "accuracy":
            return "error"
        return self.measure if self.best == 0 else f"{self.best:g} - {self.metric}"


def score_of(record: Record) -> float:
    """Give the test score of a finished run, the validation score of a pilot: higher is better."""
    score: float = next(record[name] for name in ("accuracy", "score", "validation") if name in record)
    return score


def with_costs(entry: ModelEntry, records: Sequence[Record]) -> ModelEntry:
    """Add what the finished runs measured."""
    own = [record for record in records if record["config"]["model"] == entry.name and "error" not in record]
    if not own:
        return entry
    return replace(
        entry,
        parameters=own[0]["parameters"],
        multiply_adds=own[0]["multiply_adds"],
        examples_per_second=median(record["examples_per_second"] for record in own),
    )
