"""`Form`: how a model reads texts, told by the entry of its preprocessing."""

from typing import Literal

from zoo.spec import ModelSpec

Form = Literal["encoder", "source", "prompt"]
"""What a text is to a model: all it reads, what an encoder-decoder reads, or the beginning of what it writes."""
_FORMS: dict[str, Form] = {
    "zoo.plugins.text.io.entries:encoder": "encoder",
    "zoo.plugins.text.io.entries:source": "source",
    "zoo.plugins.text.io.entries:prompt": "prompt",
}


def form_of(spec: ModelSpec) -> Form | None:
    """Say how a model reads texts, by the entry its preprocessing names; None for a model that reads none."""
    return _FORMS.get(spec.preprocess or "")
