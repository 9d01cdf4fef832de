"""The study `speed`: time and memory, in turns with a peer library."""
