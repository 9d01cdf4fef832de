"""Answers of models as JSON values: what `zoo predict --format jsonl` prints, and `zoo serve` sends."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Filled:
    """Give a text whose masks were filled, and for each mask its most probable tokens with probabilities."""

    text: str
    masks: list[list[tuple[str, float]]]


def as_json(answer: Any, top: int | None = None) -> dict[str, Any]:
    """Name an answer by its kind: `labels` with probabilities, `tags`, `text`, `masks`, or a `score`.

    Args:
        answer: as `Pipeline.predict` gives it.
        top: labels at most, the most probable ones; all if None.
    """
    if isinstance(answer, Mapping):
        return {"labels": dict(best(answer, top))}
    if isinstance(answer, Filled):
        masks = [[{"token": token, "probability": chance} for token, chance in mask] for mask in answer.masks]
        return {"text": answer.text, "masks": masks}
    if isinstance(answer, str):
        return {"text": answer}
    return {"score": answer} if isinstance(answer, float) else {"tags": list(answer)}


def best(labels: Mapping[str, float], top: int | None) -> list[tuple[str, float]]:
    """Give the labels with the greatest numbers, the greatest first; all in their order if `top` is None."""
    return list(labels.items()) if top is None else sorted(labels.items(), key=lambda item: -item[1])[:top]
