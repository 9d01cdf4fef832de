"""Benchmark cases of joined models: against models of the same sizes that were made whole."""
