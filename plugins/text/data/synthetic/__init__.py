"""Texts that programs write."""
