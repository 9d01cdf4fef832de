"""wav2vec 2.0, arXiv:2006.11477: a vector every 20 ms from the samples themselves; sizes are in `plugin.py`.

Axes: b sounds, n vectors, d channels, c channels of a group, k places of a kernel.
"""

from dataclasses import dataclass, fields

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import conv2d, pad

from zoo.core import (
    Block,
    Composition,
    ConfigError,
    Encoder,
    Model,
    PostNormBlock,
    PreNormBlock,
    configured,
    gelu,
    head,
    init_weights,
    position_encoding,
    with_position,
)
from zoo.plugins.shared.audio.asr import recogniser
from zoo.plugins.shared.audio.config import FAR, RecognitionConfig
from zoo.plugins.shared.audio.stems.wave_stem import WaveStem
from zoo.plugins.shared.audio.streaming import Streams

REACH, GROUPS = 128, 16
"""Vectors that the convolution of positions reads, and groups of channels that it keeps apart: sec. 4.2."""
BLOCKS: dict[str, type[Block]] = {"post": PostNormBlock, "pre": PreNormBlock}
"""By where they norm."""
KNOWN = {
    "stem": ("wave",),
    "conv_norm": ("group", "layer"),
    "norm": tuple(BLOCKS),
    "normalise": ("utterance", "none"),
}
"""Values of options."""


@dataclass(frozen=True, kw_only=True)
class Wav2Vec2Config(RecognitionConfig):
    """Sizes and options of `Wav2Vec2`, by default the base model; a vector stands for 20 ms.

    Its `position` may be `convolution`. `normalise="utterance"` is how models with `conv_norm="layer"` were trained;
    with `group` it makes no difference.

    Args:
        stem: `wave`, as it reads samples.
        conv_dim: channels of frames.
        conv_norm: `group` norms each channel of the first convolution over time, `layer` each frame of every
            convolution; only then convolutions have biases.
        norm: `post` or `pre`: where the blocks norm.
        eps: of the layer norms.
    """

    dim: int = 768
    num_heads: int = 12
    mlp_dim: int = 3072
    task: str = "tag"
    position: str = "convolution"
    normalise: str = "none"
    stem: str = "wave"
    conv_dim: int = 512
    conv_norm: str = "group"
    norm: str = "post"
    eps: float = 1e-5


class Wav2Vec2(Streams, Model):
    """Seven convolutions of the samples, a convolution that tells positions, a Transformer encoder, and a head.

    What is not there counts as zeros, or not at all, so a sound in a batch is answered as alone. Published models with
    `conv_norm="group"` are not so elsewhere: other libraries let zeros behind a sound into the statistics of the norm,
    so their answers to padded batches differ from ours, and from their own to the sound alone.

    Args:
        config: its fields are the keywords, see `RecognitionConfig` and `Wav2Vec2Config`.

    Raises:
        ConfigError: If a value is not one of those there are.
    """

    @configured(Wav2Vec2Config)
    def __init__(self, config: Wav2Vec2Config) -> None:
        stem, encoder = parts(config)
        super().__init__(stem, encoder, head(config.task, config.dim, config.num_classes, pool="mean"))
        init_weights(self)


@configured(Wav2Vec2Config)
def wav2vec2(config: Wav2Vec2Config) -> Composition:
    """Make a `Wav2Vec2`, or with the task `generate` the same encoder with what writes transcripts.

    Args:
        config: its fields are the keywords, see `RecognitionConfig` and `Wav2Vec2Config`.

    Raises:
        ConfigError: If a value is not one of those there are.
    """
    if config.task != "generate":
        return Wav2Vec2(**{field.name: getattr(config, field.name) for field in fields(config)})
    stem, encoder = parts(config)
    init_weights(stem)
    init_weights(encoder)
    return recogniser(stem, encoder, config)


def parts(config: Wav2Vec2Config) -> tuple[WaveStem, Encoder]:
    """Make stem and encoder.

    Raises:
        ConfigError: If a value is not one of those there are.
    """
    for keyword, known in KNOWN.items():
        if (value := getattr(config, keyword)) not in known:
            raise ConfigError(f"{keyword}={value!r} is not one of {', '.join(known)}")
    dim, attention = config.dim, config.attention
    stem = WaveStem(
        dim,
        config.conv_dim,
        layer_norms=config.conv_norm == "layer",
        normalised=config.normalise == "utterance",
        position=position_of(config.position, dim),
        norm=nn.LayerNorm(dim, eps=config.eps) if config.norm == "post" else None,
        dropout=config.dropout,
        eps=config.eps,
    )
    if config.position != "convolution":
        attention = with_position(attention, config.position, FAR + 1)
    encoder = Encoder(
        dim,
        config.depth,
        config.num_heads,
        config.mlp_dim,
        block=BLOCKS[config.norm],
        attention=attention,
        dropout=config.dropout,
        drop_path=config.drop_path,
        eps=config.eps,
    )
    return stem, encoder


class PositionalConvolution(nn.Module):
    """Tell positions by a convolution of the vectors, with GELU: arXiv:1904.11660, as arXiv:2006.11477 sec. 2.

    Each place of the kernel has its length as a parameter of its own (weight norm, arXiv:1602.07868).

    Args:
        dim: channels.
        kernel_size: vectors that are read; an even number reads one more behind than ahead.
        groups: of channels that are kept apart.

    Raises:
        ConfigError: If channels do not divide evenly.
    """

    def __init__(self, dim: int, kernel_size: int = REACH, groups: int = GROUPS) -> None:
        super().__init__()
        if dim % groups:
            raise ConfigError(f"dim={dim} is not a multiple of {groups}, the groups of the convolution of positions")
        self.groups = groups
        self.padding = (kernel_size // 2, (kernel_size - 1) // 2)
        self.direction = nn.Parameter(torch.randn(dim, dim // groups, kernel_size) * (4 / (kernel_size * dim)) ** 0.5)
        self.gain = nn.Parameter(lengths_of(self.direction.detach()))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x: Float[Tensor, "b n d"]) -> Float[Tensor, "b n d"]:
        """Give what is added to vectors; those that are not there are 0."""
        kernel = self.direction * (self.gain / lengths_of(self.direction))
        # in two dimensions, which keep channels last
        plane = pad(x, (0, 0, *self.padding)).transpose(1, 2).unsqueeze(2)
        y = conv2d(plane, kernel.unsqueeze(2), self.bias, groups=self.groups)
        return gelu(y.squeeze(2).transpose(1, 2))


class AddedPosition(nn.Module):
    """Give the position vectors of as many vectors as it is given.

    Args:
        encoding: gives those of so many places.
    """

    def __init__(self, encoding: nn.Module) -> None:
        super().__init__()
        self.encoding = encoding

    def forward(self, x: Float[Tensor, "b n d"]) -> Float[Tensor, "n d"]:
        """Give what is added to vectors."""
        return self.encoding((x.shape[1],)).to(x.dtype)


def position_of(name: str, dim: int) -> nn.Module | None:
    """Make what gives the vectors to add from the vectors; None for what acts inside attention, and for `none`.

    Raises:
        ConfigError: If the name is unknown, or positions are learned, since sounds have no greatest length.
    """
    if name == "convolution":
        return PositionalConvolution(dim)
    if name == "learned":
        raise ConfigError(f"position={name!r}: sounds have no greatest length; convolution or rotary have none")
    added = position_encoding(name, dim, (1,))
    return None if added is None else AddedPosition(added)


def lengths_of(kernel: Float[Tensor, "d c k"]) -> Float[Tensor, "1 1 k"]:
    """Give the Euclidean length of a kernel at each place."""
    return kernel.square().sum((0, 1), keepdim=True).sqrt()  # in a fifth of the time of vector_norm
