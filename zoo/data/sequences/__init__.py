"""Tasks on sequences of tokens, drawn by rules without end: recall, copying, induction, ListOps, neighbours."""
