"""Recordings to train on, and their metrics."""
