"""Benchmark cases of speech models against their peers."""
