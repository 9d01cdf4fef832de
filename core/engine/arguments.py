"""The arguments of `attend` as one value, which validation, preparation, partition and computation hand on.

Axes: b batch, q queries, k keys, h heads, g heads of keys and values, d head size, e value size.
"""

from dataclasses import dataclass, replace
from math import sqrt

import torch
from jaxtyping import Float, Int
from torch import Tensor

from zoo.core.backends.problem import Call, Problem
from zoo.core.patterns.canonical import canonical
from zoo.core.patterns.padding import Keys, Segments
from zoo.core.patterns.pattern import Full, Pattern
from zoo.core.scoring.bias import Bias, Dense
from zoo.core.scoring.normalizers import Norm
from zoo.core.scoring.scores import Score


@dataclass(frozen=True, eq=False)
class Arguments:
    """Hold the arguments of one call; see `zoo.core.engine.dispatch.attend` for their meaning."""

    q: Float[Tensor, "b q h d"]
    k: Float[Tensor, "b k g d"]
    v: Float[Tensor, "b k g e"]
    pattern: Pattern = Full()
    keys: Keys | None = None
    bias: Bias | None = None
    score: str | Score = "scaled_dot"
    dropout: float = 0.0
    q_start: int | Int[Tensor, "..."] = 0
    return_weights: bool = False
    backend: str = "auto"
    norm: Norm = "softmax"
    k_positions: Int[Tensor, "b k"] | None = None
    whole: bool = True

    @property
    def start(self) -> int | None:
        """Position of the first query; None if rows differ, or keys stand at given positions."""
        return self.q_start if isinstance(self.q_start, int) and self.k_positions is None else None

    def problem(self) -> Problem:
        """Describe the call by its shapes and needs, for the planner."""
        q, bias, score, keys = self.q, self.bias, self.score, self.keys
        packed = isinstance(keys, Segments)
        bias_grad = bias is not None and _needs_grad(*bias.tensors)
        score_grad = isinstance(score, Score) and _needs_grad(*score.tensors)
        return Problem(
            pattern=self.pattern,
            batch=q.shape[0],
            queries=q.shape[1],
            keys=self.k.shape[1],
            heads=q.shape[2],
            head_dim=q.shape[3],
            value_dim=self.v.shape[3],
            kv_heads=self.k.shape[2],
            dtype=q.dtype,
            device=q.device.type,
            grad=bias_grad or score_grad or _needs_grad(q, self.k, self.v),
            start=self.start,
            padded=keys is not None,
            packed=packed,
            together=isinstance(keys, Segments) and not torch.compiler.is_compiling() and keys.contiguous,
            placed=self.k_positions is not None,
            bias="" if bias is None else bias.kind,
            bias_grad=bias_grad,
            bias_values=bias is not None and bias.adds_values,
            score=score if isinstance(score, str) else type(score).__name__,
            norm=self.norm,
            dropout=self.dropout,
            weights=self.return_weights,
            backend=self.backend,
        )

    def call(self) -> Call:
        """Give a backend its tensors, heads first; keys and values that are padding become zero."""
        (q, k, v), keys = (self.q, self.k, self.v), self.keys
        valid = None if keys is None else keys.valid(k.shape[0], k.shape[1], k.device)
        if valid is not None:
            k, v = (x.masked_fill(~valid[..., None, None], 0) for x in (k, v))
        segments = None
        if isinstance(keys, Segments):
            segments = (keys.of_queries(q.shape[1]).to(q.device), keys.ids.to(q.device))
        return Call(
            q=q.transpose(1, 2),
            k=k.transpose(1, 2),
            v=v.transpose(1, 2),
            pattern=canonical(self.pattern, q.shape[1], k.shape[1], self.start),
            start=self.q_start,
            valid=valid,
            bias=self.bias,
            scale=1 / sqrt(q.shape[3]) if self.score == "scaled_dot" else 1.0,
            dropout=self.dropout,
            norm=self.norm,
            segments=segments,
            key_positions=self.k_positions,
            score=self.score if isinstance(self.score, Score) else None,
            weights=self.return_weights,
        )

    def queries(self, first: int, last: int) -> "Arguments":
        """Give the call of the queries from `first` up to `last`, where `q_start` is a number."""
        bias, keys = self.bias, self.keys
        if isinstance(bias, Dense):
            bias = bias.queries(first, last)
        if isinstance(keys, Segments):
            keys = Segments(keys.ids, keys.of_queries(self.q.shape[1])[:, first:last])
        start = self.q_start + first
        return replace(self, q=self.q[:, first:last], bias=bias, keys=keys, q_start=start, whole=False)

    def row(self, index: int, start: int) -> "Arguments":
        """Give the call of one row of the batch, whose first query stands at `start`."""
        one, bias, keys = slice(index, index + 1), self.bias, self.keys
        if isinstance(bias, Dense) and len(bias.added) > 1:
            bias = Dense(bias.added[one])
        keys = None if keys is None else keys.row(index)
        return replace(self, q=self.q[one], k=self.k[one], v=self.v[one], bias=bias, keys=keys, q_start=start)


def _needs_grad(*tensors: Tensor) -> bool:
    return torch.is_grad_enabled() and any(x.requires_grad for x in tensors)
