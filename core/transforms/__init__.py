"""Changes of a finished module: checkpointing of activations, copies for inference, foreign state dicts."""
