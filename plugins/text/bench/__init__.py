"""Benchmark cases of text models against the same models in other libraries."""
