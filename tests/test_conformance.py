"""The conformance kit over every built-in model."""

from zoo.plugins.vision import plugin as vision
from zoo.testing import PluginConformance

SMALL = {"depth": 2, "dim": 24, "num_heads": 3, "mlp_dim": 48, "image_size": 32, "num_classes": 5}


class TestVision(PluginConformance):
    plugin = vision
    small = {"vit-tiny": SMALL, "vit-base-p32": SMALL | {"image_size": 64}, "vit-mini": {"depth": 1}}  # noqa: RUF012
