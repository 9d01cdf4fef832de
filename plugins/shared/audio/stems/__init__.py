"""Stems: from samples or frames to a vector every 20 or 40 ms."""
