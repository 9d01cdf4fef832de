"""Results of a learning curve, computed from its records alone."""
