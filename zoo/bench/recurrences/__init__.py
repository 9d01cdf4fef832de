"""Attention as a linear recurrence: beside softmax attention, at twice the length, and in a step of decoding."""
