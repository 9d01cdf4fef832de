"""Published results on graphs, run again."""
