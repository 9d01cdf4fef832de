"""`zoo bench serve`: requests in a second and latency of `zoo serve`, against the same model called in a loop."""
