"""Visualisation of attention weights."""
