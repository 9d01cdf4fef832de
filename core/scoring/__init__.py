"""Attention scores, biases, and their normalisation to weights."""
