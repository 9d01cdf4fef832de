"""Contestants of a learning curve: which weights each starts from, its recipe, and linear probes of it."""
