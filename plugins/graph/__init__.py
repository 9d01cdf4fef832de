"""Graphs: nodes are the vectors, edges say who reads whom."""
