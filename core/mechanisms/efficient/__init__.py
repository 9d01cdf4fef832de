"""Efficient attention: what approximates the softmax over all pairs, or replaces it (survey: arXiv:2009.06732)."""
