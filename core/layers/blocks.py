"""Transformer blocks: attention, perhaps to an encoder too, then an MLP, each around a residual.

The norm stands before each (pre) or after the sum (post).
"""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core.cache.decoder import LayerState
from zoo.core.errors import ConfigError, InputError
from zoo.core.patterns.pattern import Pattern
from zoo.core.streaming.stages import Chain, Pointwise, Residual, stream_of
from zoo.core.tokens import Tokens


class DropPath(nn.Module):
    """Drop a residual branch for whole rows in training: stochastic depth, arXiv:1603.09382.

    Args:
        probability: in [0, 1).
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        if not 0 <= probability < 1:
            raise ConfigError(f"drop_path={probability} is not in [0, 1)")
        self.probability = probability

    def forward(self, x: Float[Tensor, "b n d"]) -> Float[Tensor, "b n d"]:
        """Keep each row with probability 1 - p, scaled by 1 / (1 - p)."""
        if not self.training or self.probability == 0:
            return x
        keep = torch.rand(len(x), 1, 1, device=x.device) >= self.probability
        return x * keep / (1 - self.probability)


class Block(nn.Module, ABC):
    """Hold the parts of a block; the subclasses say where the norms stand.

    Args:
        dim: channels.
        attention: the attention, `Tokens -> (batch, length, dim)`.
        mlp: the MLP, `(batch, length, dim)` to the same.
        cross: the attention to other vectors, between the two (arXiv:1706.03762 sec. 3.1); None in an encoder.
        dropout: probability in [0, 1), after each attention.
        drop_path: probability in [0, 1) that a row skips a branch in training.
        eps: of the layer norms.
    """

    def __init__(
        self,
        dim: int,
        attention: nn.Module,
        mlp: nn.Module,
        cross: nn.Module | None = None,
        *,
        dropout: float = 0.0,
        drop_path: float = 0.0,
        eps: float = 1e-6,
    ) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, eps=eps)
        self.attention = attention
        if cross is not None:
            self.cross_norm = nn.LayerNorm(dim, eps=eps)
        self.cross = cross
        self.norm2 = nn.LayerNorm(dim, eps=eps)
        self.mlp = mlp
        self.dropout = nn.Dropout(dropout)
        self.drop_path = DropPath(drop_path)

    @abstractmethod
    def forward(self, tokens: Tokens, context: Tokens | None = None, state: LayerState | None = None) -> Tokens:
        """Give the same set with new vectors.

        Args:
            tokens: the set.
            context: what `cross` reads; not needed where the state has kept it.
            state: what was read before.
        """

    def attend(self, tokens: Tokens, state: LayerState | None) -> Float[Tensor, "b n d"]:
        """Attend among the tokens, and to what the state keeps; with dropout."""
        y = self.attention(tokens) if state is None else self.attention(tokens, None, state.own)
        return self.dropped(y)

    def dropped(self, y: Float[Tensor, "b n d"]) -> Float[Tensor, "b n d"]:
        """Drop channels, and the branch for whole rows, in training."""
        return self.drop_path(self.dropout(y)) if self.training else y

    def attend_context(
        self, cross: nn.Module, tokens: Tokens, context: Tokens | None, state: LayerState | None
    ) -> Float[Tensor, "b n d"]:
        """Attend from the tokens to the context, or to what the state keeps of it; with dropout."""
        if state is not None:
            return self.dropped(cross(state.placed(tokens), context, state.cross))
        if context is None:
            raise InputError("this block reads the vectors of an encoder: give context=")
        return self.dropped(cross(tokens, context))


class PreNormBlock(Block):
    """x + attention(norm(x)), then x + mlp(norm(x)): arXiv:2010.11929 eq. 2 and 3."""

    def forward(self, tokens: Tokens, context: Tokens | None = None, state: LayerState | None = None) -> Tokens:
        x = tokens.x
        x = x + self.attend(tokens.with_x(self.norm1(x)), state)
        if self.cross is not None:
            x = x + self.attend_context(self.cross, tokens.with_x(self.cross_norm(x)), context, state)
        return tokens.with_x(x + self.drop_path(self.mlp(self.norm2(x))))

    def stream(self, pattern: Pattern | None = None) -> Chain:
        """Give the stage that does the same while vectors come, of a block that reads no context.

        Args:
            pattern: what the tokens will say.

        Raises:
            ConfigError: If attention or MLP have to see them all.
        """
        branches = (self.norm1, stream_of(self.attention, pattern)), (self.norm2, stream_of(self.mlp))
        return Chain([Residual(Chain([Pointwise(norm), branch])) for norm, branch in branches])


class PostNormBlock(Block):
    """norm(x + attention(x)), then norm(x + mlp(x)): arXiv:1706.03762 sec. 3.1."""

    def forward(self, tokens: Tokens, context: Tokens | None = None, state: LayerState | None = None) -> Tokens:
        x = self.norm1(tokens.x + self.attend(tokens, state))
        if self.cross is not None:
            x = self.cross_norm(x + self.attend_context(self.cross, tokens.with_x(x), context, state))
        return tokens.with_x(self.norm2(x + self.drop_path(self.mlp(x))))

    def stream(self, pattern: Pattern | None = None) -> Chain:
        """Give the stage that does the same while vectors come; see `PreNormBlock.stream`."""
        read, change = stream_of(self.attention, pattern), stream_of(self.mlp)
        return Chain([Residual(read), Pointwise(self.norm1), Residual(change), Pointwise(self.norm2)])
