"""Public names of the training."""

from zoo.training.resume.checkpoint import write_text as write_text
