"""Data sources for trainings and studies."""
