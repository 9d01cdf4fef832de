"""Layers of graph models."""
