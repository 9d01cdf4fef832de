"""Attention to keys at distances that are powers of two, and cosine attention, for every model of the zoo."""
