"""Public names of the suite `engine`: its graphs and their attention, for suites that compare with them."""

from zoo.bench.engine.edges import (
    HEADS as HEADS,
    HEAD_DIM as HEAD_DIM,
    NODES as NODES,
    job as job,
    random_graph as random_graph,
)
