"""`EdgeBias`: edge features added to scores, keys and values; and the bias that a pattern implies.

Axes: e edges, h heads, b rows, q queries, k keys, d, c head sizes.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

from zoo.core.errors import ConfigError, InputError
from zoo.core.ops.tensor_check import values_known
from zoo.core.patterns.edge_types import EdgeKinds
from zoo.core.patterns.edges import Edges
from zoo.core.patterns.pattern import Joined, Pattern
from zoo.core.scoring.bias import Bias
from zoo.core.scoring.scores import Score

Compared = tuple[Score, Tensor]
"""A score with parameters, and the keys by head that it compares with."""


@dataclass(frozen=True, eq=False)
class EdgeBias(Bias):
    """Bias of edges: for each, a number added to its score, a vector to its key, and one to its value.

    With one vector for key and value this is what arXiv:2009.03509 eq. 3 and 4 do with edge features. With nothing
    given it says only how often a pair counts. A score with parameters compares the query with key and vector together.

    Args:
        edges: the graph; all that follows is in the order of its index.
        added: numbers, one for all heads or one for each.
        to_keys: vectors added to keys.
        to_values: vectors added to values.
        kinds: of which kind each edge is; then all that is added is there once for each kind, not for each edge.

    Raises:
        InputError: If there is not one for each edge or kind, or equal edges count once: whose would it be?
    """

    edges: Edges
    added: Float[Tensor, " e #h"] | None = None
    to_keys: Float[Tensor, " e #h d"] | None = None
    to_values: Float[Tensor, " e #h c"] | None = None
    kinds: EdgeKinds | None = field(default=None, kw_only=True)
    kind = "edges"

    def __post_init__(self) -> None:
        count, what = self.edges.index.shape[1], "edges"
        if self.kinds is not None:
            if self.kinds.of.shape[0] != count:
                raise InputError(f"the kinds of {len(self.kinds.of)} edges for {count}")
            count, what = self.kinds.count, "kinds"
        for name, axes in (("added", 2), ("to_keys", 3), ("to_values", 3)):
            x = getattr(self, name)
            if x is not None and (x.ndim != axes or x.shape[0] != count):
                shape = f"({what}, heads)" if axes == 2 else f"({what}, heads, channels)"
                raise InputError(f"{name} of {tuple(x.shape)} for {count} {what}: it is {shape}")
        if self.tensors and self.edges.duplicates == "once" and self.edges.extra:
            raise InputError(f"{self.edges!r} merges equal edges: an EdgeBias does not know which of them counts")

    def onto(self, pattern: Pattern) -> "EdgeBias":
        """Give the bias for a graph that has more edges behind the same: to these nothing is added."""
        count = self.edges.index.shape[1]
        if not isinstance(pattern, Edges) or not torch.equal(pattern.index[:, :count], self.edges.index):
            return self
        more = pattern.index.shape[1] - count
        kinds, rows = self.kinds, more
        if kinds is not None:
            kinds, rows = EdgeKinds(pad(kinds.of, (0, more), value=kinds.count), kinds.count + 1), 1
        return EdgeBias(pattern, *self._given(lambda x: pad(x, (0, 0) * (x.ndim - 1) + (0, rows))), kinds=kinds)

    def by_edge(self) -> "EdgeBias":
        """Give the same with a row for each edge instead of for each kind."""
        if self.kinds is None:
            return self
        of = self.kinds.of
        return EdgeBias(self.edges, *self._given(lambda x: x.index_select(0, of)))

    def _given(self, change: Callable[[Tensor], Tensor]) -> list[Tensor | None]:
        return [None if x is None else change(x) for x in (self.added, self.to_keys, self.to_values)]

    @property
    def adds_values(self) -> bool:  # type: ignore[override]
        """See `Bias.adds_values`."""
        return self.to_values is not None

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return tuple(x for x in (self.added, self.to_keys, self.to_values) if x is not None)

    def scores(
        self,
        q: Float[Tensor, "b h q d"],
        i: Int[Tensor, "#b q"],
        j: Int[Tensor, "#b k"],
        scale: float,
        compared: Compared | None = None,
    ) -> Float[Tensor, "#b #h #q #k"]:
        """See `Bias.scores`; pair by pair, equal edges in one, and 0 where there is no edge.

        Args:
            q: queries.
            i: positions of the queries.
            j: positions of the keys.
            scale: of the scores.
            compared: the score and the keys, where the score is no product.
        """
        parts, _, valid = self._parts(q, i, j, scale, compared)
        closed = (parts == -torch.inf).all(0)  # logsumexp and its derivatives would be NaN there
        joined = parts.masked_fill(closed, 0).logsumexp(0).masked_fill(closed, -torch.inf)
        return joined.masked_fill(~valid.any(0), 0)

    def values(self, lowest: int, highest: int) -> None:
        """See `Bias.values`.

        Raises:
            ConfigError: If there are vectors for values: they do not depend on the offset; see `mixed`.
        """
        if self.to_values is not None:
            raise ConfigError("an EdgeBias adds to values by edge, not by offset")

    def mixed(
        self,
        weights: Float[Tensor, "b h q k"],
        q: Float[Tensor, "b h q d"],
        i: Int[Tensor, "#b q"],
        j: Int[Tensor, "#b k"],
        scale: float,
        compared: Compared | None = None,
    ) -> Float[Tensor, "b h q c"] | None:
        """Sum the vectors for values by the weights of their pairs, which equal edges share; None for none."""
        if self.to_values is None or not self.edges.index.shape[1]:
            return None
        parts, places, _ = self._parts(q, i, j, scale, compared)
        shares = weights * parts.masked_fill((parts == -torch.inf).all(0), 0).softmax(0)
        vectors = self.to_values.to(q.dtype)[places].movedim(-2, 2)  # (n, #b, h, q, k, c)
        return (shares[..., None] * vectors).sum((0, 4))

    def _parts(
        self, q: Tensor, i: Tensor, j: Tensor, scale: float, compared: Compared | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Give the scores of the first, second, … edge of each pair, -inf where there is none, its row, and if it is.

        Axes: (n, b, h, q, k), and without h.
        """
        first, count = self.edges.find(i[:, :, None], j[:, None])
        most = max(1, int(count.max()) if count.numel() else 0)
        rank = torch.arange(most, device=first.device)[:, None, None, None]
        valid = (count > rank)[:, :, None]
        order = self.edges.to(q.device).order
        order = torch.cat([order, order.new_zeros(1)])  # for a graph without edges
        places = order[torch.where(count > rank, first + rank, len(order) - 1)]
        any_edges = self.edges.index.shape[1] > 0
        if self.kinds is not None and any_edges:
            places = self.kinds.of[places]
        scores = q.new_zeros(most, 1, 1, 1, 1)
        if self.added is not None and any_edges:
            scores = scores + self.added.to(q.dtype)[places].movedim(-1, 2)
        if self.to_keys is not None and any_edges:
            vectors, queries = self.to_keys.to(q.dtype)[places].movedim(-2, 2), q[:, :, :, None]
            if compared is None:
                scores = scores + (queries * vectors).sum(-1) * scale
            else:
                score, keys = compared[0], compared[1][:, :, None]
                moved = torch.stack([score.compare(queries, keys + each) for each in vectors])
                scores = scores + moved - score.compare(queries, keys)
        return scores.masked_fill(~valid, -torch.inf), places, valid


def for_pattern(pattern: Pattern, bias: Bias | None) -> Bias | None:
    """Add to a bias what a pattern counts more than once: a mask cannot say that a pair counts twice, a bias can.

    Args:
        pattern: who may read whom; every graph in it is asked.
        bias: what is added besides.

    Raises:
        ConfigError: If a graph has such a pair, and the bias does not know of it.
        InputError: If the bias belongs to the edges of another graph.
    """
    if isinstance(pattern, Joined):
        return for_pattern(pattern.left, for_pattern(pattern.right, bias))
    if not isinstance(pattern, Edges) or not values_known(pattern.index):
        return bias
    if isinstance(bias, EdgeBias) and bias.edges is not pattern and not torch.equal(bias.edges.index, pattern.index):
        raise InputError(f"an EdgeBias of {bias.edges!r} for {pattern!r}: it is made for another graph")
    if not pattern.repeated or isinstance(bias, EdgeBias):
        return bias
    if bias is not None:
        raise ConfigError(f"{pattern!r} counts pairs more than once, which only an EdgeBias can join, not {bias.kind}")
    return EdgeBias(pattern)
