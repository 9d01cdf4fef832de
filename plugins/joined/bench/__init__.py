"""Benchmark cases of joined models: against models that were made whole."""
