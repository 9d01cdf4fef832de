"""Synthetic text data."""
