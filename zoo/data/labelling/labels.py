"""Names of labels: those that examples have, and those that lie beside a model's weights."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torch import Tensor

from zoo.data.purpose import for_training
from zoo.errors import ConfigError, DataError, InputError, WeightsError
from zoo.names import counted
from zoo.weights import hub

_SHOWN = 40
"""Characters of a label in an error."""


def names_of(labels: Iterable[str], name: str, hint: str = "") -> list[str]:
    """Give the names of labels in alphabetical order.

    Args:
        labels: of all examples.
        name: of the data, for the errors.
        hint: what to do if they are no labels, a sentence.

    Raises:
        DataError: If there are fewer than two, or most of them occur once, and the data are for training.
    """
    counts = Counter(labels)
    found = sorted(counts)
    if not for_training():
        return found
    if len(found) < 2:
        raise DataError(f"{name} has {counted(len(found), 'label')} ({', '.join(found)}): at least 2 are needed")
    once = [label for label in found if counts[label] == 1]
    if 2 * len(once) > len(found):
        shown = ", ".join(repr(label if len(label) <= _SHOWN else f"{label[:_SHOWN]}…") for label in once[:3])
        raise DataError(
            f"{name}: {len(once):,} of its {len(found):,} labels occur once, such as {shown}. No label is "
            f"learned from one example: give each several examples, or leave it out.{f' {hint}' if hint else ''}"
        )
    return found


def labels_of(config: Mapping[str, Any]) -> list[str]:
    """Give the names of the labels that lie beside a model's weights; none where there are none.

    Raises:
        WeightsError: If they cannot be read, or are not as many as the model has.
    """
    where = config.get("repository")
    path = hub.fetch(where, ("labels.json",)) if where else None
    if path is None:
        return []
    try:
        labels = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise WeightsError(f"{where!r}: labels.json cannot be read: {error}") from error
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise WeightsError(f"{where!r}: labels.json is no list of names")
    if config.get("num_classes") not in (None, len(labels)):
        raise WeightsError(f"{where!r}: labels.json has {len(labels)} names, the model {config['num_classes']} labels")
    return labels


def names_for(labels: Sequence[str], count: int, config: Mapping[str, Any] | None = None) -> Sequence[str]:
    """Give the names of an answer's labels; their numbers where they have no names.

    Args:
        labels: the names that lie beside the weights, none where there are none.
        count: labels of the answer, the size of its last axis.
        config: of the model, by which its vectors are told from scores of labels.

    Raises:
        ConfigError: If there are more names or fewer.
        InputError: If the answer holds vectors: those of a model of the task `features`, or as many numbers as its
            vectors have channels, and no labels of that number are known.
    """
    config = config or {}
    if not labels and (config.get("task") == "features" or config.get("num_classes") != count == config.get("dim")):
        raise InputError(
            f"an answer of {count} numbers each holds vectors, not scores of labels: task='features' and num_classes=0 "
            "make models without labels, and their vectors are read as they are"
        )
    names = labels or [str(place) for place in range(count)]
    if len(names) != count:
        raise ConfigError(f"an answer of {count} labels: labels.json names {len(names)}")
    return names


def ranked(row: Tensor, names: Sequence[str]) -> dict[str, float]:
    """Give the probability of each label, the likeliest first."""
    return {names[place]: float(row[place]) for place in row.argsort(descending=True).tolist()}
