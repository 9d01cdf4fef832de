"""Attention patterns (which query may attend to which key) and padding masks."""
