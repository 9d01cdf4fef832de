"""Convolution is attention: heads that attend to fixed offsets from the query (arXiv:1911.03584).

`as_attention` turns a convolution into attention; `QuadraticAttention` learns where its heads look, and how sharply.
Axes: b rows, n queries, m keys (the padded grid), h heads, d channels.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import gcd, isqrt, log

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import pad

from zoo.core.cache.state import State
from zoo.core.engine.dispatch import attend
from zoo.core.errors import ConfigError, InputError
from zoo.core.mechanisms.kernel_geometry import Sweep, square
from zoo.core.ops.linear import Linear
from zoo.core.patterns.pattern import Full, Pattern
from zoo.core.positions.attention_position import AttentionPosition, HeadSizes
from zoo.core.scoring.bias import Bias
from zoo.core.streaming.stages import Stream
from zoo.core.tokens import Tokens, tokens_of

EXACT = 46.0
"""Sharpness at which a neighbour weighs exp(-46) = 1e-20: less than float64 can tell from nothing."""


@dataclass(frozen=True, eq=False)
class Quadratic(Bias):
    """Add -α(|δ|² - 2⟨δ, Δ⟩), δ from query to key: largest where δ is the query's centre Δ (arXiv:1911.03584 eq. 9).

    Args:
        centre: Δ of each query, rows and columns.
        alpha: α of each query; its weights are a Gaussian of variance 1 / 2α.
        queries: row and column of each query, by position.
        keys: row and column of each key, by position.
    """

    kind = "dense"
    centre: Float[Tensor, "n 2"]
    alpha: Float[Tensor, " n"]
    queries: Int[Tensor, "n 2"]
    keys: Int[Tensor, "m 2"]

    def scores(
        self, q: Float[Tensor, "b h q d"], i: Int[Tensor, "#b q"], j: Int[Tensor, "#b k"], scale: float
    ) -> Float[Tensor, "#b 1 q k"]:
        delta = (self.keys[j][:, None] - self.queries[i][:, :, None]).to(self.alpha.dtype)
        r = torch.cat([delta.square().sum(-1, keepdim=True), delta], -1)
        v = -self.alpha[:, None] * torch.cat([torch.ones_like(self.alpha)[:, None], -2 * self.centre], 1)
        return (r @ v[i][..., None])[:, None, :, :, 0].to(q.dtype)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return self.centre, self.alpha


class QuadraticAttention(nn.Module):
    """Attention by place alone: each head looks at its centre beside the query, as sharply as its α says.

    arXiv:1911.03584 sec. 3. It contains the convolution: large α, centres on the taps. The output's matrix holds the
    product of each head's value and output matrices, which is a tap. Tokens of zeros stand around the grid, because
    attention renormalises where a convolution reads beyond the border. Queries and keys say nothing, so all rows of
    the batch share their weights, and all heads their values: they are computed as one row and one head, with wide
    values and more queries, which is one matrix product.

    Args:
        dim: channels in.
        num_heads: heads; their centres start as the taps of the sweep's kernel.
        out_dim: channels out; as many as in if None.
        sweep: kernel, stride, dilation, padding; if None a square kernel that keeps the grid's size.
        grid: rows and columns of the tokens, or their ratio; tokens of any size of this shape are read.
        alpha: α of all heads at the start.
        bias: whether the output adds a bias.

    Raises:
        ConfigError: If the heads are not as many as the kernel's taps, or `alpha` is not positive.
    """

    def __init__(
        self,
        dim: int,
        num_heads: int,
        *,
        out_dim: int | None = None,
        sweep: Sweep | None = None,
        grid: tuple[int, int] = (1, 1),
        alpha: float = 6.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if alpha <= 0 or min(grid) < 1:
            raise ConfigError(f"alpha={alpha}, grid={grid}: all are above 0")
        self.sweep = square(num_heads) if sweep is None else sweep
        if self.sweep.kernel[0] * self.sweep.kernel[1] != num_heads:
            raise ConfigError(f"num_heads={num_heads} for a kernel of {self.sweep.kernel}: one head for each tap")
        self.dim = dim
        self.num_heads = num_heads
        self.grid = grid
        self.pattern: Pattern = Full()
        taps = self.sweep.taps().to(torch.get_default_dtype())
        self.rows, self.columns = (nn.Parameter(x.clone()) for x in taps.T)  # vectors: matrices would decay
        self.log_alpha = nn.Parameter(torch.full((num_heads,), log(alpha)))
        self.out = Linear(num_heads * dim, dim if out_dim is None else out_dim, bias=bias)

    def forward(
        self, tokens: Tokens, context: Tokens | None = None, state: State | None = None
    ) -> Float[Tensor, "b n d"]:
        """Give a vector for each place of the kernel on the grid.

        Raises:
            InputError: If the tokens are no grid of this shape, or come with a context or a state.
            ConfigError: If the tokens say who may read whom.
        """
        self._check_arguments(tokens, context, state)
        q, k, v = self.project(tokens, None)
        y = attend(q, k, v, bias=self.encoding(tokens))
        y = y.reshape(self.num_heads, -1, tokens.x.shape[0], self.dim)
        return self.out(y.permute(2, 1, 0, 3).flatten(2))

    def weights(
        self, tokens: Tokens, context: Tokens | None = None, state: State | None = None
    ) -> Float[Tensor, "b h n m"]:
        """Give the weights that `forward` uses, of all keys, those around the grid too."""
        self._check_arguments(tokens, context, state)
        q, k, v = self.project(tokens, None)
        weights = attend(q, k, v, bias=self.encoding(tokens), return_weights=True)[1]
        return weights[:, 0].unflatten(1, (self.num_heads, -1)).expand(tokens.x.shape[0], -1, -1, -1)

    def state(self, batch: int, pattern: Pattern = Full(), *, capacity: int = 16, spare: int = 0) -> State:
        """Refuse to read step by step.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError("an attention by place reads a whole grid at once: it keeps no state")

    def stream(self, pattern: Pattern | None = None) -> Stream:
        """Refuse to answer while vectors come.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(f"{type(self).__name__} reads its input whole: no model with it answers while input comes")

    def set_position(self, make: Callable[[HeadSizes], AttentionPosition], wanted: str) -> None:
        """Refuse: the places of the heads are its positions.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(f"{wanted} acts inside attention, where {type(self).__name__} has no place for it")

    def packs(self) -> bool:
        """Tell that packed sets are no grid."""
        return False

    def _check_arguments(self, tokens: Tokens, context: Tokens | None, state: State | None) -> None:
        if context is not None or state is not None:
            raise InputError("an attention by place reads its own tokens, all at once: give no context and no state")
        if tokens_of(tokens).pattern not in (None, Full()):
            raise ConfigError(f"pattern={tokens.pattern}: this layer attends by a fixed kernel and takes no pattern")
        if tokens.x.shape[-1] != self.dim:
            raise InputError(f"vectors of {tokens.x.shape[-1]} channels given to an attention of dim={self.dim}")

    def project(self, tokens: Tokens, context: Tokens | None) -> tuple[Tensor, Tensor, Tensor]:
        """Make empty queries and keys, and values of the channels of all rows; padding is zero."""
        grid = self.shape(tokens.x.shape[1])
        top, bottom, left, right = self.sweep.padding
        x = tokens.without_padding().x.unflatten(1, grid).permute(0, 3, 1, 2)
        x = pad(x, (left, right, top, bottom), mode="constant" if self.sweep.mode == "zeros" else self.sweep.mode)
        v = x.flatten(2).flatten(0, 1).T[None, :, None]
        queries = self.num_heads * len(self.sweep.places(grid, v.device)[0])
        return v.new_zeros(1, queries, 1, 1), v.new_zeros(1, v.shape[1], 1, 1), v

    def encoding(self, tokens: Tokens) -> Quadratic:
        """Give what is added to the scores of these tokens; the queries of one head come after those of another."""
        queries, keys = self.sweep.places(self.shape(tokens.x.shape[1]), tokens.x.device)
        heads = torch.stack([self.rows, self.columns, self.log_alpha.exp()], 1).repeat_interleave(len(queries), 0)
        return Quadratic(heads[:, :2], heads[:, 2], queries.repeat(self.num_heads, 1), keys)

    def shape(self, length: int) -> tuple[int, int]:
        """Find the grid of so many tokens.

        Raises:
            InputError: If there is none of the right shape.
        """
        common = gcd(*self.grid)
        rows, columns = self.grid[0] // common, self.grid[1] // common
        times = isqrt(length // (rows * columns))
        if times**2 * rows * columns != length or not length:
            raise InputError(f"{length} tokens are no grid of the shape {rows}:{columns}: give `grid=`")
        return times * rows, times * columns

    def extra_repr(self) -> str:
        """Return the options that `repr` shows."""
        return f"num_heads={self.num_heads}, grid={self.grid}, {self.sweep}"


def quadratic(rows: str = "1", columns: str = "1") -> Callable[[int, int], QuadraticAttention]:
    """Make what builds a `QuadraticAttention`, for `attention="quadratic"` and `attention="quadratic:ROWS,COLUMNS"`."""
    return partial(QuadraticAttention, grid=(int(rows), int(columns)))


def as_attention(conv: nn.Module, grid: tuple[int, int] = (1, 1), alpha: float = EXACT) -> QuadraticAttention:
    """Make the attention that computes the same as a convolution (arXiv:1911.03584 theorem 1).

    Any kernel, stride, dilation, padding and groups; a group's tap is zero for the channels it does not read. What is
    computed is the same up to exp(-α), the weight of a neighbour.

    Args:
        conv: the convolution; it is not changed.
        grid: rows and columns of the image, or their ratio: tokens are its pixels, row by row.
        alpha: sharpness of the heads.

    Raises:
        ConfigError: If it is no two-dimensional convolution.
    """
    if not isinstance(conv, nn.Conv2d):
        shown = f"{conv!r}" if isinstance(conv, nn.Module) else f"a {type(conv).__name__}"
        raise ConfigError(f"{shown} is no nn.Conv2d: places are rows and columns of a grid")
    sweep = Sweep.of(conv)
    heads = sweep.kernel[0] * sweep.kernel[1]
    part = partial(QuadraticAttention, out_dim=conv.out_channels, bias=conv.bias is not None)
    made = part(conv.in_channels, heads, sweep=sweep, grid=grid, alpha=alpha).to(conv.weight)
    outputs = torch.arange(conv.out_channels, device=conv.weight.device)
    taps = conv.weight.new_zeros(conv.out_channels, conv.groups, *conv.weight.shape[1:])
    taps[outputs, outputs // (conv.out_channels // conv.groups)] = conv.weight.detach()
    with torch.no_grad():
        made.out.weight.copy_(taps.flatten(1, 2).permute(0, 2, 3, 1).flatten(1))
        if conv.bias is not None:
            made.out.bias.copy_(conv.bias)
    return made
