"""Thresholds of `zoo predict`: which labels an input has, where it may have any number of them."""

from collections.abc import Mapping, Sequence

from zoo.errors import ConfigError

THRESHOLD = 0.5


class Thresholds:
    """Choose labels by their probabilities.

    Args:
        given: `NUMBER` for all labels, or `LABEL=NUMBER` for one.
        task: of the model.

    Raises:
        ConfigError: If one is no probability, or labels exclude each other.
    """

    def __init__(self, given: Sequence[str], task: str) -> None:
        if task != "multi-label" and given:
            raise ConfigError(f"--threshold {given[0]} of a model of task {task!r}, which gives one label: see --top")
        self.limits = {"": THRESHOLD}
        for text in given:
            label, _, number = text.rpartition("=")
            try:
                self.limits[label] = float(number)
            except ValueError:
                self.limits[label] = -1
            if not 0 <= self.limits[label] <= 1:
                raise ConfigError(f"--threshold {text}: a probability is wanted, from 0 to 1, or LABEL=PROBABILITY")

    def chosen(self, answer: Mapping[str, float]) -> list[tuple[str, float]]:
        """Give the labels of an input with their probabilities, the most probable first.

        Raises:
            ConfigError: If a threshold is of a label that is none.
        """
        if unknown := [label for label in self.limits if label and label not in answer]:
            raise ConfigError(f"--threshold {unknown[0]}=…: the labels are {', '.join(answer)}")
        found = [item for item in answer.items() if item[1] >= self.limits.get(item[0], self.limits[""])]
        return sorted(found, key=lambda item: -item[1])
