"""Corpora for training: what those of several plugins share."""
