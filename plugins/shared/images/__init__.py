"""Patches of images."""
