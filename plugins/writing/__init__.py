"""Texts as ids: tokenizers and vocabularies; what several plugins share."""
