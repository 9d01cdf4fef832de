"""Models that describe pictures."""
