"""Streaming: modules that take an input in chunks and answer with bounded latency."""
