"""`edge_weights`: attention weights on a graph, one for each edge (b, e, h) instead of a matrix.

Axes: b rows, q queries, k keys, h heads, g heads of keys, d head size, e edges.
"""

from jaxtyping import Float
from torch import Tensor

from zoo.core.backends.edges.scatter import weigh_edges
from zoo.core.backends.reference import raised
from zoo.core.engine.arguments import Arguments
from zoo.core.engine.preparation import prepare
from zoo.core.engine.validation import validate
from zoo.core.patterns.edges import Edges
from zoo.core.patterns.padding import Keys
from zoo.core.scoring.edge_bias import EdgeBias
from zoo.core.scoring.scores import Score


def edge_weights(
    q: Float[Tensor, "b q h d"],
    k: Float[Tensor, "b k g d"],
    edges: Edges,
    keys: Keys | None = None,
    bias: EdgeBias | None = None,
    score: str | Score = "scaled_dot",
) -> Float[Tensor, "b e h"]:
    """Give the weights that `attend` uses on the edges of a graph, with gradients; a vector for each edge is kept.

    The weights of a query's edges sum to 1. An edge that equals an earlier one, where equal edges count once, has 0.

    Args:
        q: queries by head.
        k: keys; as many heads, or a divisor.
        edges: the graph.
        keys: which keys are there; None if all are.
        bias: what belongs to edges; its vectors for values do not matter.
        score: as for `attend`.

    Raises:
        InputError: If shapes or dtypes do not fit.
    """
    given = Arguments(q, k, k, edges, keys, bias, score)
    validate(given)
    call = prepare(given).call()
    weights, csr = weigh_edges(raised(call))
    by_edge = weights.new_zeros(q.shape[0], edges.index.shape[1], q.shape[2])
    return by_edge.index_copy(1, csr.edges.long(), weights.transpose(1, 2)).to(k.dtype)
