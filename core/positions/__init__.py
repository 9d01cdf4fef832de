"""Position encodings: absolute, rotary, relative."""
