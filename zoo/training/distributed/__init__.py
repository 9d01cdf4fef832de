"""Devices and processes of a training."""
