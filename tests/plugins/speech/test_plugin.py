"""The conformance kit over every speech model."""

from typing import Any

from zoo.plugins.speech import plugin as speech
from zoo.testing import PluginConformance

SMALL: dict[str, Any] = {"depth": 2, "dim": 24, "num_heads": 3, "mlp_dim": 48}
WAVES: dict[str, Any] = {"depth": 2, "dim": 32, "num_heads": 4, "mlp_dim": 48, "conv_dim": 8}


class TestSpeech(PluginConformance):
    plugin = speech
    small = {  # noqa: RUF012
        "dscnn-micro": {"channels": 8, "depth": 2, "num_classes": 5},
        "speech-micro": {"num_classes": 4},
        "speech-tiny": SMALL | {"num_classes": 5},
        "speech-small": SMALL | {"window": [160, 80], "position": "transformer-xl", "num_classes": 4},
        "speech-base": SMALL | {"task": "generate", "by": "joint", "vocab_size": 9},
        "speech-translator-tiny": SMALL | {"vocab_size": 9},
        "wav2vec2-base": WAVES | {"num_classes": 5, "task": "classify"},
        "wav2vec2-large-lv60": WAVES | {"num_classes": 4},
    }
