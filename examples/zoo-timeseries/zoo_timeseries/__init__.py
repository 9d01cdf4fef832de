"""Time series as a modality of the attention zoo."""
