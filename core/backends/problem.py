"""The interface of backends: `Problem`, which is planned for, and `Call`, which is computed.

Axes: b batch, q queries, k keys, h heads, g heads of keys and values (h is a multiple), d, e head sizes, r b or 1.
"""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from zoo.core.backends.costs import Cost
from zoo.core.errors import InputError
from zoo.core.patterns.basic import Causal
from zoo.core.patterns.pattern import Full, Pattern
from zoo.core.scoring.bias import Bias, Dense
from zoo.core.scoring.edge_bias import Compared, EdgeBias
from zoo.core.scoring.normalizers import Norm
from zoo.core.scoring.relative_bias import Relative
from zoo.core.scoring.scores import Score


@dataclass(frozen=True)
class Problem:
    """Describe one use of attention by its shapes and needs, without its numbers: what the planner decides from.

    Args:
        pattern: which query may read which key.
        queries: number of queries.
        keys: number of keys.
        heads: query heads.
        head_dim: channels of a query head.
        batch: rows.
        value_dim: channels of a value head; `head_dim` if not given.
        kv_heads: heads of keys and values, a divisor of `heads` (grouped queries); `heads` if None.
        dtype: of queries, keys and values.
        device: type of the device, `cpu` or `cuda`.
        grad: whether gradients are needed.
        start: position of the first query, as when decoding; None if rows differ or it is not known.
        padded: whether some keys are padding.
        packed: whether several sets are packed into a row.
        together: whether packed queries and keys are the same vectors, and each set is contiguous.
        placed: whether the keys stand at given positions instead of 0, 1, 2, …
        bias: kind of what is added to the scores: `dense`, `relative` or `edges`; empty for none.
        bias_grad: whether the bias needs a gradient.
        bias_values: whether the bias adds to the values too.
        score: `scaled_dot`, `dot`, or the class of a score with parameters.
        norm: how scores become weights: `softmax`, `Kernel` or `Hard`.
        dropout: probability that a weight is dropped, in [0, 1).
        weights: whether the attention weights are wanted.
        backend: name of a backend to force, or `auto`.
    """

    pattern: Pattern = Full()
    _: KW_ONLY
    queries: int
    keys: int
    heads: int
    head_dim: int
    batch: int = 1
    value_dim: int = None  # type: ignore[assignment]  # set below, so that it is a number to all readers
    kv_heads: int | None = None
    dtype: torch.dtype = torch.float32
    device: str = "cpu"
    grad: bool = False
    start: int | None = 0
    padded: bool = False
    packed: bool = False
    together: bool = False
    placed: bool = False
    bias: str = ""
    bias_grad: bool = False
    bias_values: bool = False
    score: str = "scaled_dot"
    norm: Norm = "softmax"
    dropout: float = 0.0
    weights: bool = False
    backend: str = "auto"

    def __post_init__(self) -> None:
        if self.value_dim is None:
            object.__setattr__(self, "value_dim", self.head_dim)

    @property
    def grouped(self) -> int:
        """Query heads for each head of keys and values."""
        return self.heads // (self.kv_heads or self.heads or 1)

    @property
    def size(self) -> int:
        """Bytes of a number."""
        return torch.finfo(self.dtype).bits // 8

    @property
    def masked(self) -> int:
        """Entries of a mask of queries and keys; none where a kernel knows the pattern, and padding is a row of it."""
        if self.pattern in (Full(), Causal()):
            return 0
        return (self.batch if self.padded or self.packed else 1) * self.queries * self.keys

    @property
    def vectors(self) -> int:
        """Bytes of queries, keys, values and answers."""
        of_keys = self.keys * self.heads // self.grouped
        numbers = self.batch * (self.queries * self.heads + of_keys) * (self.head_dim + self.value_dim)
        return self.size * numbers


@dataclass(frozen=True)
class Call:
    """Carry the tensors of one call; padding in `k` and `v` is zero already, so that NaN there cannot leak."""

    q: Float[Tensor, "b h q d"]
    k: Float[Tensor, "b g k d"]
    v: Float[Tensor, "b g k e"]
    pattern: Pattern
    start: Int[Tensor, " r"] | int
    """Position of the first query, one for all rows or one for each."""
    valid: Bool[Tensor, "b k"] | None
    bias: Bias | None
    scale: float
    dropout: float
    norm: Norm = "softmax"
    segments: tuple[Int[Tensor, "b q"], Int[Tensor, "b k"]] | None = None
    """The set of each query and of each key, if sets are packed."""
    key_positions: Int[Tensor, "r k"] | None = None
    """Where the keys stand, if not at 0, 1, 2, …"""
    score: Score | None = None
    """A score with parameters; None for the (scaled) product."""
    weights: bool = False
    """Whether the weights are wanted."""

    @property
    def i(self) -> Int[Tensor, "r q"]:
        """Positions of the queries."""
        steps = torch.arange(self.q.shape[2], device=self.q.device)[None]
        return steps + (self.start if isinstance(self.start, int) else self.start[:, None].to(self.q.device))

    @property
    def j(self) -> Int[Tensor, "r k"]:
        """Positions of the keys."""
        if self.key_positions is not None:
            return self.key_positions
        return torch.arange(self.k.shape[2], device=self.q.device)[None]

    def mask(self) -> Bool[Tensor, "#b #h #q k"] | None:
        """Give pattern, packing and padding as one tensor; None where everything may be read."""
        rows, heads = self.q.shape[:2]
        mask = None if self.valid is None else self.valid[:, None, None]
        if self.segments is not None:
            of_queries, of_keys = self.segments
            same = (of_queries[:, :, None] == of_keys[:, None])[:, None]
            mask = same if mask is None else mask & same
        if self.pattern == Full():
            return mask
        allowed = self.pattern.mask(self.i, self.j)
        if allowed.shape[0] not in (1, rows) or allowed.shape[1] not in (1, heads):
            got = f"{allowed.shape[0]} rows and {allowed.shape[1]} heads"
            raise InputError(f"a mask of {got} for a batch of {rows} with {heads} heads")
        return allowed if mask is None else allowed & mask

    def part(self, first: int, last: int) -> "Call":
        """Give the call of the queries from `first` up to `last`."""
        bias, segments = self.bias, self.segments
        if isinstance(bias, Dense):
            bias = bias.queries(first, last)
        if segments is not None:
            segments = (segments[0][:, first:last], segments[1])
        return replace(self, q=self.q[:, :, first:last], start=self.start + first, bias=bias, segments=segments)

    def added(self) -> Float[Tensor, "#b #h #q #k"] | None:
        """Give what the bias adds to the scaled scores."""
        if self.bias is None or isinstance(self.bias, Dense):
            return None if self.bias is None else self.bias.added
        counted = self.key_positions is None and self.q.numel() and self.k.numel()
        if counted and isinstance(self.bias, Relative) and isinstance(self.start, int):
            return self.bias.on_line(self.q, self.k.shape[2], self.start, self.scale)
        if isinstance(self.bias, EdgeBias):
            return self.bias.scores(self.q, self.i, self.j, self.scale, self.compared)
        return self.bias.scores(self.q, self.i, self.j, self.scale)

    @property
    def compared(self) -> Compared | None:
        """Give what an `EdgeBias` has to know of a score with parameters; None for a product."""
        return None if self.score is None else (self.score, self.k)

    @property
    def needs_grad(self) -> bool:
        """Tell whether a gradient is wanted."""
        parts = [self.q, self.k, self.v]
        parts += [] if self.bias is None else self.bias.tensors
        parts += [] if self.score is None else self.score.tensors
        return torch.is_grad_enabled() and any(x.requires_grad for x in parts)

    @property
    def queries(self) -> Float[Tensor, "b h q d"]:
        """Give the queries that meet the keys: some biases move them."""
        return self.q if self.bias is None else self.bias.query(self.q)


@runtime_checkable
class Backend(Protocol):
    """Compute attention in one way."""

    name: str

    def refuses(self, problem: Problem) -> str | None:
        """Return why this backend cannot serve the problem; None if it can."""

    def cost(self, problem: Problem) -> Cost:
        """Predict what serving the problem costs."""

    def run(self, call: Call) -> tuple[Float[Tensor, "b h q e"], Float[Tensor, "b h q k"] | None]:
        """Compute the answer, and the weights where the backend has them."""


def refused(problem: Problem) -> str | None:
    """Return why a backend around PyTorch's kernel cannot serve the problem; None if it can."""
    if problem.weights:
        return "it keeps no weights"
    if problem.norm != "softmax":
        return f"it knows only softmax, not {problem.norm}"
    if problem.score not in ("dot", "scaled_dot", "General"):
        return f"its score is a product, not {problem.score}"
    return "it adds nothing to values" if problem.bias_values else None
