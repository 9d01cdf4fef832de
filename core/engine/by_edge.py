"""`edge_weights`: who reads whom how much on a graph, one weight for each edge instead of a matrix.

Axes: b rows, q queries, k keys, h heads, g heads of keys, d head size, e edges.
"""

from math import sqrt

from jaxtyping import Float
from torch import Tensor

from zoo.core.backends.edges.scatter import weigh_edges
from zoo.core.backends.problem import Call
from zoo.core.backends.reference import raised
from zoo.core.engine.validation import check, check_kinds
from zoo.core.patterns.edges import Edges
from zoo.core.patterns.padding import Keys, Segments
from zoo.core.scoring.edge_bias import EdgeBias, for_pattern
from zoo.core.scoring.scores import General, Score


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
    check(q, k, k, score, 0.0)
    check_kinds(edges, keys, bias, "softmax")
    edges.fit(q.shape[1], k.shape[1])
    added = for_pattern(edges, bias)
    scale = 1 / sqrt(q.shape[3]) if score == "scaled_dot" else 1.0
    if isinstance(score, General):
        q, score = score.query(q.transpose(1, 2)).transpose(1, 2), "dot"
    valid = None if keys is None else keys.valid(k.shape[0], k.shape[1], k.device)
    k = k if valid is None else k.masked_fill(~valid[..., None, None], 0)
    segments = None
    if isinstance(keys, Segments):
        segments = (keys.of_queries(q.shape[1]).to(q.device), keys.ids.to(q.device))
    call = Call(
        q=q.transpose(1, 2),
        k=k.transpose(1, 2),
        v=k.transpose(1, 2),
        pattern=edges,
        start=0,
        valid=valid,
        bias=added,
        scale=scale,
        dropout=0.0,
        segments=segments,
        score=score if isinstance(score, Score) else None,
    )
    weights, csr = weigh_edges(raised(call))
    by_edge = weights.new_zeros(q.shape[0], edges.index.shape[1], q.shape[2])
    return by_edge.index_copy(1, csr.edges.long(), weights.transpose(1, 2)).to(k.dtype)
