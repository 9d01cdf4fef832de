"""Callbacks of the training loop: run folder, progress, signals, loss curve."""
