"""How a query and a key become a score, a bias added to it, and how scores become weights."""
