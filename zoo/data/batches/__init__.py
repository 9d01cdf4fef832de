"""Batches: of nearly equal length, packed, made ahead by processes."""
