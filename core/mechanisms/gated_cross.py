"""Gated cross-attention, arXiv:2204.14198 sec. 3.1.2: a decoder that read no encoder reads one, unchanged at first."""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core.cache.state import State
from zoo.core.errors import ConfigError
from zoo.core.layers.attention import Attention
from zoo.core.layers.blocks import Block, PostNormBlock, PreNormBlock
from zoo.core.layers.init import init_weights
from zoo.core.layers.transformer import Decoder
from zoo.core.tokens import Tokens


class GatedAttention(Attention):
    """Cross-attention times tanh(α), where α starts at 0: arXiv:2204.14198 sec. 3.1.2.

    The paper gates an MLP of its own behind it too, which we leave out.

    Args:
        dim: channels in and out.
        num_heads: heads.
        options: others of `Attention`.
    """

    OPEN = 20.0
    """A gate that is open: tanh(20) is 1 to the last bit, also in float64."""

    def __init__(self, dim: int, num_heads: int, **options: Any) -> None:
        super().__init__(dim, num_heads, **options)
        self.gate = nn.Parameter(torch.zeros(1))

    def forward(
        self, tokens: Tokens, context: Tokens | None = None, state: State | None = None
    ) -> Float[Tensor, "b n d"]:
        """See `Attention.forward`; the answer is multiplied by the gate."""
        return self.gate.tanh().to(tokens.x.dtype) * super().forward(tokens, context, state)


class GatedNorm(nn.LayerNorm):
    """(1 - tanh(α)) x + tanh(α) norm(x), where α starts at 0: the norm behind inserted cross-attention.

    A block that norms behind each sum would norm twice, and not be unchanged, without this gate.

    Args:
        dim: channels.
        eps: of the norm.
    """

    def __init__(self, dim: int, eps: float) -> None:
        super().__init__(dim, eps=eps)
        self.gate = nn.Parameter(torch.zeros(1))

    def forward(self, x: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        """Give the mean of the vectors and the normed ones, by the gate."""
        gate = self.gate.tanh().to(x.dtype)
        return (1 - gate) * x + gate * super().forward(x)


def insert_cross(decoder: Any) -> list[str]:
    """Let a decoder read the vectors of an encoder; give the names of its parts that are new, none if it could already.

    It gets a norm, as in a block that was made with it: in front, or behind the sum and then with a gate of its own.

    Args:
        decoder: a `Decoder`, which is changed; or another module that `crosses`.

    Raises:
        ConfigError: If there is no place for cross-attention in it.
    """
    if getattr(decoder, "crosses", False):
        return []
    if not isinstance(decoder, Decoder):
        raise ConfigError(
            f"{type(decoder).__name__} cannot read the vectors of an encoder, and has no blocks to insert "
            "cross-attention in: take a decoder that reads a source already, such as that of 'rnn-attention-tiny' or "
            "'transformer-tiny', or one made of blocks, such as 'decoder-tiny'"
        )
    for index, block in enumerate(decoder.blocks):
        if not isinstance(block, Block):
            raise ConfigError(f"block {index} of the decoder is a {type(block).__name__}, no Block: it takes no cross=")
    for block in decoder.blocks:
        _insert(block)
    decoder.crosses = True
    return [f"blocks.{index}.{part}" for index, block in enumerate(decoder.blocks) for part in _parts(block)]


def gates_of(module: nn.Module) -> Iterator[nn.Parameter]:
    """Give the gates of inserted cross-attention."""
    return (part.gate for part in module.modules() if isinstance(part, GatedAttention | GatedNorm))


def open_gates(module: nn.Module) -> None:
    """Open the gates, for cross-attention that was trained without any."""
    with torch.no_grad():
        for gate in gates_of(module):
            gate.fill_(GatedAttention.OPEN)


def _insert(block: Any) -> None:
    dim, eps = block.norm1.normalized_shape[0], block.norm1.eps
    like = block.norm1.weight
    heads = getattr(block.attention, "num_heads", 1)
    block.cross = GatedAttention(dim, heads if dim % heads == 0 else 1)
    init_weights(block.cross)
    kinds = ((PreNormBlock, nn.LayerNorm), (PostNormBlock, GatedNorm))
    block.cross_norm = next((norm(dim, eps=eps) for kind, norm in kinds if isinstance(block, kind)), nn.Identity())
    for part in (block.cross, block.cross_norm):
        part.to(like.device, like.dtype).train(block.training)


def _parts(block: nn.Module) -> list[str]:
    return ["cross"] if isinstance(block.cross_norm, nn.Identity) else ["cross_norm", "cross"]
