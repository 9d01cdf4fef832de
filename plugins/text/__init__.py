"""Text: tokens, models, weights and data."""
