"""Modules that are fed an input in pieces and answer as soon as they can."""
