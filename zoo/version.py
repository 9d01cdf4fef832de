"""The version of the zoo, as checkpoints, run folders and error texts name it."""

__version__ = "0.1.0"
