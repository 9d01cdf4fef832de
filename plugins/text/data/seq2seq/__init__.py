"""Sequence-to-sequence tasks with scores of their own: phonemes, dialogue and questions, drawn or from files."""
