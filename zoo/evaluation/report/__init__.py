"""The report of an evaluation: figures, worst examples, a page."""
