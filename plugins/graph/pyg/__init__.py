"""Layers and weights of PyTorch Geometric."""
