"""Graphs with a text each, for a graph encoder before a decoder that writes: drawn and described, or the user's."""
