"""Numeric helpers that know nothing of attention: products, compressed sparse rows, autocast."""
