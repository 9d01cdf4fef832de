"""Graphs that are too large for one step."""
