"""Public names of the training."""

from zoo.atomic_write import write_text as write_text
