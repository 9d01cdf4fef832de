"""Evaluation: what a trained model is worth on data, with intervals, groups and its worst examples."""
