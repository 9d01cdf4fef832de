"""3-D point clouds as a modality of the attention zoo."""
