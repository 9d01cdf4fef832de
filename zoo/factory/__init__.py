"""How a name becomes a model."""
