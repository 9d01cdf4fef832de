"""The entries of `zoo.preprocess` and `zoo.postprocess`, one for each way in which a model reads texts.

Nothing heavy is imported before a library that is missing was named.
"""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from zoo import Reads
from zoo.plugins.text.sources import TOKENIZERS
from zoo.registry import require

if TYPE_CHECKING:
    from zoo.plugins.text.io.postprocess import Postprocess
    from zoo.plugins.text.io.preprocess import Preprocess


def preprocess(form: Reads, config: Mapping[str, Any], train: bool, pairs: bool = False) -> "Preprocess":
    """Make what turns texts into ids, and lengths or a mask; see `zoo.plugins.text.io.preprocess.frame_of`."""
    require("preprocessing texts", (TOKENIZERS,))
    from zoo.plugins.text.io.preprocess import Preprocess

    return Preprocess(config, form, pairs)


encoder, source, prompt = (partial(preprocess, form) for form in ("encoder", "source", "prompt"))
encoder_of_pairs = partial(preprocess, "encoder", pairs=True)


def postprocess(config: Mapping[str, Any]) -> "Postprocess":
    """Make what turns a model's answer into texts or labels."""
    require("reading answers as texts", (TOKENIZERS,))
    from zoo.plugins.text.io.postprocess import Postprocess

    return Postprocess(config)
