"""The study `parallel-decoding`: writing all tokens at once against writing one after the other."""
