"""Attention as a linear recurrence with a state of constant size: retention, GLA, SSD and the delta rule."""
