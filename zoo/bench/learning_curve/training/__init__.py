"""One training of a learning curve, all seeds of a size at once, and how a learning rate is chosen."""
