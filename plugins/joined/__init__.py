"""Models joined of two others: any encoder with any decoder."""
