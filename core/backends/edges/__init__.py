"""Sparse attention by lists of edges."""
