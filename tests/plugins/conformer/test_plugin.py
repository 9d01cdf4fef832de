"""The conformance kit over every Conformer."""

from typing import Any

import zoo
from zoo.plugins.conformer import plugin as conformer
from zoo.testing import PluginConformance

SMALL: dict[str, Any] = {"depth": 2, "dim": 24, "num_heads": 3, "mlp_dim": 48, "kernel_size": 6}


class TestConformer(PluginConformance):
    plugin = conformer
    small = {  # noqa: RUF012
        "conformer-micro": {"num_classes": 4},
        "conformer-tiny": SMALL | {"num_classes": 5},
        "conformer-small": SMALL | {"window": [160, 80], "convolution": "causal", "norm": "layer", "num_classes": 4},
        "conformer-medium": SMALL | {"task": "generate", "vocab_size": 9},
        "conformer-large": SMALL | {"task": "generate", "by": "attention", "vocab_size": 9},
    }


def test_sizes_are_those_of_the_paper() -> None:
    # table 1: 10.3, 30.7 and 118.8 million with a decoder; the stem 0.58, 1.84 and 7.35 of them
    sizes = [zoo.info(f"conformer-{size}").parameters or 0 for size in ("small", "medium", "large")]
    assert [round(size / 1e6, 1) for size in sizes] == [8.7, 27.3, 114.9]
