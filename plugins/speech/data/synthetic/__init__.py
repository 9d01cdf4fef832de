"""Synthetic speech data."""
