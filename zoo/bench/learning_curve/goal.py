"""`Goal`: the test score that a study is to decide about, and what labels and training cost."""

from collections.abc import Sequence
from dataclasses import dataclass

from zoo.bench.decision.cost import Prices
from zoo.bench.learning_curve.decide import decide
from zoo.bench.learning_curve.results.study import Study
from zoo.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Goal:
    """Hold what a user wants to decide; see `decide`.

    Args:
        target: test score; None for no decision.
        label_cost: money for a label.
        hour_cost: money for an hour of training.

    Raises:
        ConfigError: If a price does not fit, or is given without a target.
    """

    target: float | None = None
    label_cost: float | None = None
    hour_cost: float | None = None

    def __post_init__(self) -> None:
        """Refuse prices that do not fit before anything is trained."""
        if Prices(label=self.label_cost, hour=self.hour_cost).asked and self.target is None:
            given = f"label_cost={self.label_cost}" if self.label_cost is not None else f"hour_cost={self.hour_cost}"
            raise ConfigError(
                f"{given} without a target: name the test score that labels are needed for, as --target 0.95"
            )

    @property
    def options(self) -> str:
        """Write it as options of the command, with a space in front."""
        values = {"--target": self.target, "--label-cost": self.label_cost, "--hour-cost": self.hour_cost}
        return "".join(f" {name} {value:.12g}" for name, value in values.items() if value is not None)

    def decided(self, study: Study) -> Sequence[str]:
        """Give the lines of the decision; none without a target."""
        if self.target is None:
            return ()
        return decide(study, self.target, label_cost=self.label_cost, hour_cost=self.hour_cost).lines
