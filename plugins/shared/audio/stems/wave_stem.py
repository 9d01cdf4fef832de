"""From samples to a vector every 20 ms by convolutions alone: the stem of wav2vec 2.0, arXiv:2006.11477 sec. 2.

Axes: b sounds, t samples, n and m frames or vectors, c and e channels of frames, k numbers that a kernel reads, d of a
vector.
"""

from typing import Any, NoReturn

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core import ConfigError, InputError, Lengths, Linear, Tokens, check_tensor, gelu, multiply, upcast
from zoo.plugins.shared.audio.config import WAVE_TOKEN
from zoo.plugins.shared.audio.lengths import Count, cleared, valid_mask
from zoo.plugins.shared.audio.stems.frame_stem import check_lengths, check_values

KERNELS = ((10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2))
"""Frames that each convolution reads, and from one to the next: arXiv:2006.11477 sec. 4.2."""
RECEPTIVE = 400
"""Samples that all of them together read for a vector: 25 ms."""
STEM_NAMES = {
    "stem.convolutions.{n}.{p}": "feature_extractor.conv_layers.{n}.conv.{p}",
    "stem.convolutions.{n}.norm.{p}": "feature_extractor.conv_layers.{n}.layer_norm.{p}",
    "stem.conv_norm.{p}": "feature_projection.layer_norm.{p}",
    "stem.project.{p}": "feature_projection.projection.{p}",
}
"""Our names of its weights, and Hugging Face's; see `zoo.core.Layout`."""
SMALL = 1e-7
"""Added to the variance of samples."""


class WaveStem(nn.Module):
    """Give a vector for every 20 ms of samples: convolutions, a projection, and what tells positions.

    Args:
        dim: channels of the vectors.
        conv_dim: channels of frames.
        layer_norms: whether every convolution norms its frames; else the first norms each channel over time.
        normalised: whether the samples of each sound get mean 0 and variance 1.
        position: gives what is added to vectors (b, n, d); nothing if None.
        norm: of the vectors; none if None.
        dropout: probability in [0, 1).
        eps: of the norms.
    """

    spacing = (WAVE_TOKEN / 1000, "s")
    """From vector to vector."""

    def __init__(
        self,
        dim: int,
        conv_dim: int,
        *,
        layer_norms: bool,
        normalised: bool,
        position: nn.Module | None,
        norm: nn.Module | None,
        dropout: float = 0.0,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.normalised = normalised
        self.convolutions: Any = nn.ModuleList(
            Convolution(conv_dim if index else 1, conv_dim, *kernel, normed=layer_norms)
            if index or layer_norms
            else NormedConvolution(1, conv_dim, *kernel)
            for index, kernel in enumerate(KERNELS)
        )
        self.conv_norm = nn.LayerNorm(conv_dim, eps=eps)
        self.project = Linear(conv_dim, dim)
        self.position = position
        self.norm = nn.Identity() if norm is None else norm
        self.dropout = nn.Dropout(dropout)

    def forward(self, sounds: Tensor, lengths: Tensor | None = None) -> Tokens:
        """Give the vectors.

        Args:
            sounds: samples (b, t) at 16 kHz, in -1 … 1; what lies behind the length of a sound is not read.
            lengths: samples that each sound has; all if None.

        Raises:
            InputError: If shape, dtype, lengths or values do not fit, or a sound is shorter than 25 ms.
        """
        self._check(sounds, lengths)
        x = cleared(sounds if sounds.dtype is torch.float64 else sounds.float(), lengths)[..., None]
        if self.normalised:
            x = normalised(x, lengths)
        x, count = x.to(self.project.weight.dtype), lengths
        for convolution in self.convolutions:
            x = convolution(x, count)
            count = None if count is None else convolution.count(count)
        x = cleared(self.dropout(self.project(self.conv_norm(x))), count)
        if self.position is not None:
            x = x + self.position(x)
        return Tokens(self.dropout(self.norm(x)), None, None if count is None else Lengths(count))

    def count(self, samples: Count) -> Count:
        """Count the vectors of so many samples."""
        for convolution in self.convolutions:
            samples = convolution.count(samples)
        return samples

    def stream(self) -> NoReturn:
        """Refuse to stream: norms and positions read the whole sound.

        Raises:
            ConfigError: In any case.
        """
        raise ConfigError(
            "wav2vec 2.0 reads a sound whole: models of speech-… and conformer-…, made with window=[640, 0] and "
            "normalise='running', answer while it comes"
        )

    def _check(self, sounds: Tensor, lengths: Tensor | None) -> None:
        check_tensor(sounds, "sounds")
        shape = tuple(sounds.shape)
        if sounds.ndim != 2 or not sounds.is_floating_point() or not shape[0]:
            hint = "; one sound needs a batch axis: sound[None]" if sounds.ndim == 1 else ""
            raise InputError(
                f"sounds of shape {shape} and {sounds.dtype}: this model reads samples (batch, time) in -1 … 1{hint}"
            )
        if shape[1] < RECEPTIVE:
            raise InputError(f"sounds of {shape[1]} samples, shape {shape}: a vector reads {RECEPTIVE}, 25 ms")
        if lengths is not None:
            check_lengths(lengths, shape, RECEPTIVE, "samples")
        check_values(sounds, lengths)


class Convolution(nn.Module):
    """Convolve frames without padding, norm each perhaps, and apply GELU.

    Args:
        before: channels in.
        channels: channels out.
        kernel_size: frames that are read.
        stride: frames from one to the next.
        normed: whether each frame is normed, arXiv:1607.06450; only then a bias is added.
    """

    def __init__(self, before: int, channels: int, kernel_size: int, stride: int, *, normed: bool) -> None:
        super().__init__()
        self.stride = stride
        self.weight = nn.Parameter(torch.empty(channels, before, kernel_size))
        nn.init.kaiming_normal_(self.weight)
        self.bias = nn.Parameter(torch.zeros(channels)) if normed else None
        self.norm: nn.Module = nn.LayerNorm(channels) if normed else nn.Identity()

    def forward(self, x: Float[Tensor, "b n c"], count: Int[Tensor, " b"] | None = None) -> Float[Tensor, "b m e"]:
        """Give the frames of whole kernels.

        Args:
            x: frames.
            count: how many are there; all if None.
        """
        return gelu(self.norm(multiply(self.windows(x), self.kernel(), self.bias)))

    def windows(self, x: Float[Tensor, "b n c"]) -> Float[Tensor, "b m k"]:
        """Lay the frames that each kernel reads one behind the other: the convolution is one product then."""
        return x.unfold(1, self.weight.shape[2], self.stride).mT.flatten(2)

    def kernel(self) -> Float[Tensor, "e k"]:
        """Give the weights in the same order."""
        return self.weight.mT.flatten(1)

    def count(self, frames: Count) -> Count:
        """Count the kernels that so many frames hold."""
        return (frames - self.weight.shape[2]) // self.stride + 1


class NormedConvolution(Convolution):
    """Convolve, norm each channel over the frames of a sound that are there (arXiv:1803.08494), and apply GELU.

    Mean and variance of what a kernel gives follow from those of what it reads, which are few numbers: they go into the
    kernel, and nothing is normed afterwards.

    Args:
        before: channels in.
        channels: channels out.
        kernel_size: frames that are read.
        stride: frames from one to the next.
    """

    def __init__(self, before: int, channels: int, kernel_size: int, stride: int) -> None:
        super().__init__(before, channels, kernel_size, stride, normed=False)
        self.norm: nn.GroupNorm = nn.GroupNorm(channels, channels)

    def forward(self, x: Float[Tensor, "b n c"], count: Int[Tensor, " b"] | None = None) -> Float[Tensor, "b m e"]:
        windows, kernel = upcast(self.windows(x)), upcast(self.kernel())
        share = shares(windows, None if count is None else self.count(count))
        centred = windows - share @ windows
        covariance = (share * centred.mT) @ centred
        variance = ((kernel @ covariance) * kernel).sum(2)
        scaled = kernel * (self.norm.weight * (variance + self.norm.eps).rsqrt())[..., None]
        bias = self.norm.bias.to(scaled.dtype).expand(x.shape[0], 1, -1)
        return gelu(torch.baddbmm(bias, centred, scaled.mT).to(x.dtype))


def normalised(x: Float[Tensor, "b n e"], count: Int[Tensor, " b"] | None) -> Float[Tensor, "b n e"]:
    """Give samples mean 0 and variance 1, and 0 where none are; silence stays 0.

    Args:
        x: samples, one channel each.
        count: how many of each sound are there; all if None.
    """
    share = shares(x, count)
    centred = x - share @ x
    return cleared(centred * (share @ centred.square() + SMALL).rsqrt(), count)


def shares(x: Float[Tensor, "b n e"], count: Int[Tensor, " b"] | None) -> Float[Tensor, "b 1 n"]:
    """Give the share of each frame in the mean of those that are there.

    Args:
        x: frames.
        count: how many of each sound are there; all if None.
    """
    b, n = x.shape[:2]
    if count is None:
        return x.new_full((b, 1, n), 1 / n)
    return (valid_mask(count, n, x.device).to(x.dtype) / count.to(x.device, x.dtype)[:, None])[:, None]
