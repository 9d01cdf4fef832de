"""Windows and chunks by products of small dense blocks."""
