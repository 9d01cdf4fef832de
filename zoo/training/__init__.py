"""Training: the one loop of the house, what it reads, what changes its loss, and checkpoints to go on from."""
