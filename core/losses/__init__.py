"""Losses of training, and connectionist temporal classification (CTC)."""
