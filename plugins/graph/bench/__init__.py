"""Benchmark cases of graph models: against PyTorch Geometric's layers, and against a smaller graph."""
