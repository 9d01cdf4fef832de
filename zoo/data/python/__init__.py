"""Data that a program gives: lists of pairs, datasets of PyTorch and Hugging Face, arrays and frames."""
