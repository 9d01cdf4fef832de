"""The study `captions`: soft, hard and doubly stochastic attention, and where they look."""
