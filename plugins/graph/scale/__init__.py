"""Large graphs: neighbour sampling and blockwise inference."""
