"""Corpora of pictures: labelled, of tables, given from Python, of several labels."""
