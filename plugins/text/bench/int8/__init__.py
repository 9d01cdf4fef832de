"""Benchmark cases of text models with int8 weights against the float32 models of other libraries."""
