"""What a training writes so that it can be resumed: checkpoints, its state, its folder."""
