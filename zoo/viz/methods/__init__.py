"""Summaries of heads, and methods that join the attention of all layers; they know no picture and no page."""
