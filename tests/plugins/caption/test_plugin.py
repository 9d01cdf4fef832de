"""The conformance kit over the captioning models."""

from typing import Any

from zoo.plugins.caption import plugin as caption
from zoo.testing import PluginConformance

SMALL: dict[str, Any] = {"dim": 16, "vocab_size": 30, "image_size": 8}


class TestCaption(PluginConformance):
    plugin = caption
    small = {  # noqa: RUF012
        "caption-rnn-tiny": SMALL,
        "caption-tiny": SMALL | {"depth": 1, "num_heads": 2, "mlp_dim": 16},
    }
