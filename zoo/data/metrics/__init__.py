"""Scores of predictions that the data themselves make."""
