"""The entries of `zoo.preprocess` and `zoo.postprocess`, one for each way in which a model reads texts.

Nothing heavy is imported before a library that is missing was named.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from zoo.entries import require
from zoo.plugins.text.sources import TOKENIZERS
from zoo.spec import ModelSpec

if TYPE_CHECKING:
    from zoo.plugins.text.answers import Postprocess
    from zoo.plugins.text.reader import Preprocess

Form = Literal["encoder", "source", "prompt"]
"""What a text is to a model: all it reads, what an encoder-decoder reads, or the beginning of what it writes."""


def form_of(spec: ModelSpec) -> Form | None:
    """Say how a model reads texts, by the entry its preprocessing names; None for a model that reads none."""
    forms: dict[str, Form] = {"encoder": "encoder", "source": "source", "prompt": "prompt"}
    module, _, name = (spec.preprocess or "").partition(":")
    return forms.get(name) if module == __name__ else None


def encoder(config: Mapping[str, Any], train: bool) -> "Preprocess":
    """Prepare texts for an encoder: ids between begin and end, and lengths."""
    return _preprocess(config, "encoder")


def source(config: Mapping[str, Any], train: bool) -> "Preprocess":
    """Prepare texts for an encoder-decoder: ids of the source with an end, and lengths."""
    return _preprocess(config, "source")


def prompt(config: Mapping[str, Any], train: bool) -> "Preprocess":
    """Prepare texts for a decoder alone: ids padded on the left, and a mask of those that are there."""
    return _preprocess(config, "prompt")


def postprocess(config: Mapping[str, Any]) -> "Postprocess":
    """Make what turns a model's answer into texts or labels."""
    require("reading answers as texts", (TOKENIZERS,))
    from zoo.plugins.text.answers import Postprocess

    return Postprocess(config)


def _preprocess(config: Mapping[str, Any], form: Form) -> "Preprocess":
    require("preprocessing texts", (TOKENIZERS,))
    from zoo.plugins.text.reader import Preprocess

    return Preprocess(config, form)
