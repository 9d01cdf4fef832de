"""Plugins and the names they offer."""
