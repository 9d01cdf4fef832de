"""Every family of encoders with every family of decoders, and the kit for encoders of a plugin."""

from zoo.testing import JoiningConformance


class TestGrid(JoiningConformance):
    """All pairs."""
