"""The same Conformer, with the same weights, in the libraries to compare with, for `zoo bench speed --peer`."""

import copy
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core import ConfigError, Model, Tokens, TransformerXLPosition
from zoo.plugins.conformer.convert import is_convolution_first, to_parakeet, to_torchaudio
from zoo.plugins.conformer.frame_norm import FrameBatchNorm, FrameLayerNorm


class Peer(nn.Module):
    """Another library's blocks between our stem and our head.

    The libraries let padding into their convolutions, so answers are the same where sounds are of one length.

    Args:
        ours: the model whose stem and head it copies.
        blocks: theirs, `Tokens -> (batch, length, dim)`.
    """

    def __init__(self, ours: Model, blocks: nn.Module) -> None:
        super().__init__()
        self.stem = copy.deepcopy(ours.stem)
        self.blocks = blocks
        self.head = copy.deepcopy(ours.head)
        self.train(ours.training)

    def forward(self, *inputs: Any) -> Tensor:
        """Give the answer of the model's task."""
        tokens = self.stem(*inputs).without_padding()
        return self.head(tokens.with_x(self.blocks(tokens)))


class TorchaudioBlocks(nn.Module):
    """Let `torchaudio.models.Conformer` read `Tokens`.

    Args:
        net: the model.
    """

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, tokens: Tokens) -> Float[Tensor, "b n d"]:
        """Return the output of the blocks, (batch, length, dim)."""
        b, n = tokens.x.shape[:2]
        valid = tokens.valid()
        lengths = torch.full((b,), n, device=tokens.x.device) if valid is None else valid.sum(1)
        longest = int(lengths.max())  # which they count to
        return nn.functional.pad(self.net(tokens.x[:, :longest], lengths)[0], (0, 0, 0, n - longest))


class ParakeetBlocks(nn.Module):
    """Let the blocks of Hugging Face's Parakeet read `Tokens`, with relative positions.

    Args:
        layers: the blocks.
        positions: gives the sinusoids of the offsets.
    """

    def __init__(self, layers: nn.ModuleList, positions: nn.Module) -> None:
        super().__init__()
        self.layers = layers
        self.positions = positions

    def forward(self, tokens: Tokens) -> Float[Tensor, "b n d"]:
        """Return the output of the blocks, (batch, length, dim)."""
        x, valid = tokens.x, tokens.valid()
        positions = self.positions(x)
        mask = None if valid is None else (valid[:, None] & valid[:, :, None])[:, None]
        for layer in self.layers:
            x = layer(x, attention_mask=mask, position_embeddings=positions)
        return x


def peer(model: Model) -> nn.Module:
    """Make the same model around torchaudio's Conformer, or Parakeet's where positions are relative.

    Their kernels are odd: an even one becomes the next odd one, with a 0 in front.

    Raises:
        ConfigError: If neither library has such blocks.
    """
    first: Any = model.encoder.blocks[0]
    position = first.attention.position
    if isinstance(first.convolution.inner_norm, FrameLayerNorm):
        raise ConfigError("norm='layer': other libraries' Conformers norm by batch or by group")
    if position is None:
        return Peer(model, _torchaudio(model, first))
    if isinstance(position, TransformerXLPosition) and isinstance(first.convolution.inner_norm, FrameBatchNorm):
        return Peer(model, _parakeet(model, first))
    raise ConfigError(
        f"no other library has a Conformer with {type(position).__name__} and "
        f"{type(first.convolution.inner_norm).__name__}: compare with position='none', or with "
        "position='transformer-xl', norm='batch'"
    )


def _torchaudio(model: Model, first: Any) -> nn.Module:
    from torchaudio.models import Conformer

    net: Any = Conformer(
        model.num_features,
        first.attention.num_heads,
        first.mlp1.up.out_features,
        len(model.encoder.blocks),
        first.convolution.depthwise.kernel_size // 2 * 2 + 1,
        dropout=first.dropout.p,
        use_group_norm=not isinstance(first.convolution.inner_norm, FrameBatchNorm),
        convolution_first=is_convolution_first(model),
    )
    net.load_state_dict(to_torchaudio(model.encoder))
    for part in net.modules():
        if isinstance(part, nn.MultiheadAttention):
            part.dropout = 0.0  # as ours
    return TorchaudioBlocks(net)


def _parakeet(model: Model, first: Any) -> nn.Module:
    from transformers import ParakeetEncoderConfig
    from transformers.models.parakeet.modeling_parakeet import (
        ParakeetEncoderBlock,
        ParakeetEncoderRelPositionalEncoding,
    )

    config: Any = ParakeetEncoderConfig(
        hidden_size=model.num_features,
        num_hidden_layers=len(model.encoder.blocks),
        num_attention_heads=first.attention.num_heads,
        intermediate_size=first.mlp1.up.out_features,
        conv_kernel_size=first.convolution.depthwise.kernel_size // 2 * 2 + 1,
        activation_dropout=first.dropout.p,
        attention_dropout=0.0,
    )
    config._attn_implementation = "sdpa"
    layers = nn.ModuleList(ParakeetEncoderBlock(config, index) for index in range(len(model.encoder.blocks)))
    state = to_parakeet(model.encoder)
    layers.load_state_dict({key.removeprefix("layers."): value for key, value in state.items()})
    return ParakeetBlocks(layers, ParakeetEncoderRelPositionalEncoding(config))
