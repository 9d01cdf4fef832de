"""Constraints of generation: processors of scores and stopping criteria, one a file."""
