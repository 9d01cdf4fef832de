"""A grid of independent runs in worker processes, with results that survive a crash."""
