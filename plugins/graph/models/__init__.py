"""Graph models."""
