"""Compositions of stem, encoder, decoder and head."""
