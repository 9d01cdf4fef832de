"""Generation of a model, remembered while it is judged: the judge and the data's own scores ask for the same texts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor

from zoo.data.content_digest import content_digest

_PLAIN = {"max_len"}
"""Options of `generate` with which it answers the same each time: greedy search up to a length."""


@contextmanager
def written_once(model: Any) -> Iterator[None]:
    """Let `model.generate` decode greedily once for the same inputs; later calls get the first answer.

    Args:
        model: in evaluation mode; one without `generate` is left alone. Calls with other options than `max_len`, or
            with inputs that are no tensors, are never remembered.
    """
    if not callable(getattr(model, "generate", None)):
        yield
        return
    generate = model.generate
    known: dict[Any, Any] = {}

    def remembered(*inputs: Any, **options: Any) -> Any:
        if options.keys() - _PLAIN or not all(isinstance(x, Tensor) or x is None for x in inputs):
            return generate(*inputs, **options)
        key = (content_digest(inputs), *sorted(options.items()))
        if key not in known:
            known[key] = generate(*inputs, **options)
        return known[key]

    own = vars(model).get("generate")
    model.generate = remembered
    try:
        yield
    finally:
        if own is None:
            del model.generate
        else:
            model.generate = own
