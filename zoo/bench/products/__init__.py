"""Ways to compute a product of activations with weights, against PyTorch's `linear`, for each shape of the models."""
