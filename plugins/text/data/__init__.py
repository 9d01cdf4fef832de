"""Text corpora and their metrics."""
