"""The entries of `zoo.preprocess` and `zoo.postprocess`, one for each way in which a model reads texts.

Nothing heavy is imported before a library that is missing was named.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from zoo import Reads
from zoo.plugins.text.sources import TOKENIZERS
from zoo.registry import require

if TYPE_CHECKING:
    from zoo.plugins.text.io.postprocess import Postprocess
    from zoo.plugins.text.io.preprocess import Preprocess


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
    from zoo.plugins.text.io.postprocess import Postprocess

    return Postprocess(config)


def _preprocess(config: Mapping[str, Any], form: Reads) -> "Preprocess":
    require("preprocessing texts", (TOKENIZERS,))
    from zoo.plugins.text.io.preprocess import Preprocess

    return Preprocess(config, form)
