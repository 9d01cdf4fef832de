"""Answers of models as JSON values: what `zoo predict --format jsonl` prints, and `zoo serve` sends."""

from collections.abc import Mapping
from typing import Any


def as_json(answer: Any, top: int | None = None) -> dict[str, Any]:
    """Name an answer by its kind: `labels` with probabilities, `tags`, `text`, `masks`, or a `score`.

    Args:
        answer: as `Pipeline.predict` gives it.
        top: labels at most, the most probable ones; all if None.
    """
    if isinstance(answer, Mapping):
        return {"labels": dict(best(answer, top))}
    if isinstance(answer, str):
        return {"text": answer}
    return {"score": answer} if isinstance(answer, float) else {"tags": list(answer)}


def best(labels: Mapping[str, float], top: int | None) -> list[tuple[str, float]]:
    """Give the labels with the greatest numbers, the greatest first; all in their order if `top` is None."""
    return list(labels.items()) if top is None else sorted(labels.items(), key=lambda item: -item[1])[:top]
