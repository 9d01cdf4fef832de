"""Batches of graphs, the pattern of their edges, and what is cached of both."""
