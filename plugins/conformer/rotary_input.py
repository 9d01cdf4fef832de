"""Rotary positions before the projections, as in Hugging Face's Wav2Vec2Conformer."""

from collections.abc import Callable

from torch import Tensor, nn

from zoo.core import Attention, ConfigError, Rotary, Tokens, multiply


class RotaryInputAttention(Attention):
    """Attention whose queries and keys are made of turned vectors, and its values of the vectors themselves.

    arXiv:2104.09864 turns queries and keys instead: there the score depends on the offset alone, here it does not, as
    the projections stand behind the turn. Hugging Face's `Wav2Vec2ConformerModel` with
    `position_embeddings_type="rotary"` was trained so. The channels of each head turn as in `Rotary`.
    """

    def project(self, tokens: Tokens, context: Tokens | None) -> tuple[Tensor, Tensor, Tensor]:
        if context is not None:
            raise ConfigError("rotary positions before the projections are of self-attention, and a context was given")
        (turned,) = Rotary(self.head_dim).turn(tokens.positions, tokens.x.unflatten(-1, (self.num_heads, -1)))
        weight, bias = self.qkv.weight.tensor_split([2 * self.inner]), self.qkv.bias.tensor_split([2 * self.inner])
        q, k = multiply(turned.flatten(2), weight[0], bias[0]).unflatten(-1, (2 * self.num_heads, -1)).chunk(2, dim=2)
        return q, k, multiply(tokens.x, weight[1], bias[1]).unflatten(-1, (self.num_heads, -1))


def with_rotary_input(attention: Callable[[int, int], nn.Module]) -> Callable[[int, int], nn.Module]:
    """Make `RotaryInputAttention` of the pattern that another maker's attention has, from `(dim, num_heads)`.

    Args:
        attention: the other maker; it may name a pattern, and nothing else.
    """

    def make(dim: int, num_heads: int) -> RotaryInputAttention:
        layer = attention(dim, num_heads)
        if type(layer) is not Attention or layer.position is not None or layer.norm != "softmax":
            raise ConfigError(
                f"position='rotary-input' turns what a softmax attention projects, and attention= makes {layer}: "
                "leave one of them out"
            )
        return RotaryInputAttention(dim, num_heads, pattern=layer.pattern)

    return make
