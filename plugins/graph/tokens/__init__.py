"""Nodes and edges as vectors, and positional encodings."""
