"""Public names of the training."""

from zoo.training.checkpoint import write_text as write_text
