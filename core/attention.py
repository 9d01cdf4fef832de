"""`Attention`: projections into heads, `attend`, and back; self-attention and cross-attention."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core.dispatch import attend
from zoo.core.errors import ConfigError, InputError
from zoo.core.linear import Linear, multiply
from zoo.core.pattern import Full, Pattern
from zoo.core.tokens import Tokens


class Attention(nn.Module):
    """Multi-head attention, arXiv:1706.03762 sec. 3.2.2; queries, keys and values come from one fused product.

    Args:
        dim: channels in and out.
        num_heads: heads.
        head_dim: channels of a head; `dim / num_heads` if None.
        bias: whether the projections add a bias.
        dropout: probability that a weight is dropped in training, in [0, 1).
        pattern: who may read whom, on top of what the tokens say.

    Raises:
        ConfigError: If `dim` is not a multiple of `num_heads` and no `head_dim` is given.
    """

    def __init__(
        self,
        dim: int,
        num_heads: int,
        *,
        head_dim: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        pattern: Pattern = Full(),
    ) -> None:
        super().__init__()
        if head_dim is None and (num_heads < 1 or dim % num_heads):
            raise ConfigError(f"dim={dim} is not a multiple of num_heads={num_heads}")
        self.num_heads = num_heads
        self.inner = num_heads * (head_dim or dim // num_heads)
        self.dropout = dropout
        self.pattern = pattern
        self.qkv = Linear(dim, 3 * self.inner, bias=bias)
        self.out = Linear(self.inner, dim, bias=bias)

    def forward(self, tokens: Tokens, context: Tokens | None = None) -> Float[Tensor, "b n d"]:
        """Let each of the tokens read the tokens, or the context if there is one; the context says what may be read."""
        q, k, v = self.project(tokens, context)
        source = context or tokens
        dropout = self.dropout if self.training else 0.0
        y = attend(q, k, v, self.restrict(source), source.keys, dropout=dropout)
        return self.out(y.flatten(2))

    def weights(self, tokens: Tokens, context: Tokens | None = None) -> Float[Tensor, "b h q k"]:
        """Give the weights that `forward` uses in evaluation; rows sum to 1, or to 0 with nothing to read."""
        q, k, v = self.project(tokens, context)
        source = context or tokens
        return attend(q, k, v, self.restrict(source), source.keys, return_weights=True)[1]

    def restrict(self, source: Tokens) -> Pattern:
        """Join what the tokens allow and what this layer allows."""
        return self.pattern if source.pattern is None else source.pattern & self.pattern

    def project(self, tokens: Tokens, context: Tokens | None) -> tuple[Tensor, Tensor, Tensor]:
        """Make queries, keys and values, each (batch, length, heads, head_dim)."""
        if tokens.x.shape[-1] != self.qkv.in_features:
            raise InputError(
                f"vectors of {tokens.x.shape[-1]} channels given to an attention of dim={self.qkv.in_features}"
            )
        if context is None:
            parts = self.qkv(tokens.x).unflatten(-1, (3, self.num_heads, -1)).unbind(2)
            return parts[0], parts[1], parts[2]
        w, b = self.qkv.weight, self.qkv.bias
        cut = self.inner
        q = multiply(tokens.x, w[:cut], None if b is None else b[:cut])
        kv = multiply(context.x, w[cut:], None if b is None else b[cut:])
        k, v = kv.unflatten(-1, (2, self.num_heads, -1)).unbind(2)
        return q.unflatten(-1, (self.num_heads, -1)), k, v

    def extra_repr(self) -> str:
        """Show what the parameters do not."""
        return f"num_heads={self.num_heads}, pattern={self.pattern}"


class NormedAttention(Attention):
    """Attention whose queries and keys are normed head by head, arXiv:2010.04245 and arXiv:2302.05442 sec. 2.

    Scores cannot grow with the vectors, so higher learning rates are stable, and narrow models find their attention
    in fewer steps.

    Args:
        dim: channels in and out.
        num_heads: heads.
        options: as for `Attention`.
    """

    def __init__(self, dim: int, num_heads: int, **options: Any) -> None:
        super().__init__(dim, num_heads, **options)
        self.q_norm = nn.LayerNorm(self.inner // num_heads, eps=1e-6)
        self.k_norm = nn.LayerNorm(self.inner // num_heads, eps=1e-6)

    def project(self, tokens: Tokens, context: Tokens | None) -> tuple[Tensor, Tensor, Tensor]:
        """Make queries, keys and values, each (batch, length, heads, head_dim)."""
        q, k, v = super().project(tokens, context)
        return self.q_norm(q).to(v.dtype), self.k_norm(k).to(v.dtype), v  # autocast norms in float32


def normed() -> type[NormedAttention]:
    """Give `NormedAttention`, for `attention="qk-norm"`."""
    return NormedAttention


@torch.no_grad()
def attention_maps(model: nn.Module, *inputs: object) -> list[Float[Tensor, "b h q k"]]:
    """Run a model once and give the weights of each `Attention` in it, in the order in which they were used."""
    maps: list[Tensor] = []

    def record(module: nn.Module, args: tuple[Tokens, ...]) -> None:
        if isinstance(module, Attention):
            maps.append(module.weights(*args))

    hooks = [module.register_forward_pre_hook(record) for module in model.modules() if isinstance(module, Attention)]
    try:
        model(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return maps
