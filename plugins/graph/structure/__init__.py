"""Batches of graphs, the attention pattern of their edges, and caches of both."""
