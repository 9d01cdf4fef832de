"""Shared code of the text models: head sizes and initial weights."""

from functools import partial

from torch import nn

from zoo.core import ConfigError, Learned, MakeAttention, init_weights


def sized(attention: MakeAttention, head_dim: int | None, value_dim: int | None) -> MakeAttention:
    """Give an attention the sizes of its heads; unchanged where neither is given.

    Raises:
        ConfigError: When the attention is made, if it takes none.
    """
    sizes = {name: size for name, size in (("head_dim", head_dim), ("value_dim", value_dim)) if size is not None}
    if not sizes:
        return attention

    def make(dim: int, num_heads: int) -> nn.Module:
        try:
            return partial(attention, **sizes)(dim, num_heads)
        except TypeError as error:
            shown = ", ".join(f"{name}={size}" for name, size in sizes.items())
            raise ConfigError(f"{shown} for {getattr(attention, '__name__', attention)}, which takes none") from error

    return make


def init_text(model: nn.Module, deviation: float) -> None:
    """Draw the weights of linear layers as `init_weights`, embeddings and learned positions from a normal.

    Args:
        model: with all its parts.
        deviation: of the normal: 1 / sqrt(dim) where embeddings are multiplied by sqrt(dim), as in the code of
            arXiv:1706.03762; 0.02 in BERT and GPT-2.
    """
    init_weights(model)
    for part in model.modules():
        if isinstance(part, nn.Embedding):
            nn.init.normal_(part.weight, std=deviation)
        elif isinstance(part, Learned):
            nn.init.normal_(part.table, std=deviation)
