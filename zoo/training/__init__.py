"""Training: the loop, its sampler, objectives, optimizers and checkpoints."""
