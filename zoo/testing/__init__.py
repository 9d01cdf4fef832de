"""Tests for plugin authors: subclass `PluginConformance` in two lines and let pytest collect it."""

from zoo.testing.conformance import PluginConformance
from zoo.testing.joining import JoiningConformance

__all__ = ["JoiningConformance", "PluginConformance"]
