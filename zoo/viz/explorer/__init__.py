"""Attention explorer: one HTML page, without any request, with the attention of a model for one input or two."""
