"""Weights as int8, and products with them."""
