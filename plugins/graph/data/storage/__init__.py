"""Graphs of files in memory-mapped arrays, and their targets."""
