"""Graphs to train on, and their metrics."""
