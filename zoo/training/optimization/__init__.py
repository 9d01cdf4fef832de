"""How a training steps: optimizers, their precision."""
