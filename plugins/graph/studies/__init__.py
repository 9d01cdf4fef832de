"""Studies that reproduce published results on graphs."""
