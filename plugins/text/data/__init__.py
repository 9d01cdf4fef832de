"""Texts to train on, and their metrics."""
