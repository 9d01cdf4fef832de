"""Normalisation layers of the convolution module whose statistics exclude padding.

Each is called with the vectors and with which of them are there. Axes: b rows, n frames, d channels.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core import InputError, Keys, Segments, upcast


class FrameBatchNorm(nn.BatchNorm1d):
    """Batch norm, arXiv:1502.03167, over the frames that are there: as `nn.BatchNorm1d` on these, one behind the other.

    Args:
        dim: channels.
        eps: added to the variance.
        momentum: share of the new statistics in the running ones, in [0, 1]; None for their plain mean.
    """

    by_frame = True
    """Whether a frame alone says what becomes of it in evaluation, so that a stream need not wait for others."""

    def __init__(self, dim: int, eps: float = 1e-5, momentum: float | None = 0.1) -> None:
        super().__init__(dim, eps, momentum)

    def forward(self, input: Float[Tensor, "b n d"], keys: Keys | None = None) -> Float[Tensor, "b n d"]:
        """Norm each channel; in training, what is not there gives 0.

        Raises:
            InputError: If fewer than two frames are there in training: one alone has no variance.
        """
        b, n, _ = input.shape
        frames = input.flatten(0, 1)
        if not self.training:
            return super().forward(frames).view_as(input)
        where = None if keys is None else keys.valid(b, n, input.device).flatten().nonzero()[:, 0]
        x = frames if where is None else frames.index_select(0, where)
        if len(x) < 2:
            raise InputError(f"batch norm in training of {len(x)} frames in {b} rows of {n}: it needs two or more")
        y = super().forward(x)
        return (y if where is None else y.new_zeros(frames.shape).index_copy(0, where, y)).view_as(input)

    def factors(self) -> tuple[Float[Tensor, " d"], Float[Tensor, " d"]]:
        """Give what each channel is multiplied by in evaluation, and what is added then; at least float32."""
        assert self.running_mean is not None
        assert self.running_var is not None
        mean, var, weight, bias = (upcast(x) for x in (self.running_mean, self.running_var, self.weight, self.bias))
        scale = weight * torch.rsqrt(var + self.eps)
        return scale, bias - mean * scale


class FrameLayerNorm(nn.LayerNorm):
    """Layer norm of each frame alone, arXiv:1607.06450.

    Args:
        dim: channels.
        eps: added to the variance.
    """

    by_frame = True

    def __init__(self, dim: int, eps: float = 1e-5) -> None:
        super().__init__(dim, eps)

    def forward(self, input: Float[Tensor, "b n d"], keys: Keys | None = None) -> Float[Tensor, "b n d"]:
        """Norm each frame."""
        return super().forward(input)


class FrameGroupNorm(nn.GroupNorm):
    """Group norm, arXiv:1803.08494, of the frames of a row that are there: each frame depends on the whole row.

    Args:
        dim: channels.
        num_groups: groups of channels, each with its own statistics.
        eps: added to the variance.
    """

    def __init__(self, dim: int, num_groups: int = 1, eps: float = 1e-5) -> None:
        super().__init__(num_groups, dim, eps)

    def forward(self, input: Float[Tensor, "b n d"], keys: Keys | None = None) -> Float[Tensor, "b n d"]:
        """Norm each group of channels of a row.

        Raises:
            InputError: If several sets are packed into a row: they would share their statistics.
        """
        if input.shape[1] == 0:
            return input
        if keys is None:
            return super().forward(input.transpose(1, 2)).transpose(1, 2)
        if isinstance(keys, Segments):
            raise InputError(
                "group norm takes statistics of a whole row, so packed sets would mix: norm by batch or layer"
            )
        b, n, _ = input.shape
        valid = keys.valid(b, n, input.device)
        groups = upcast(input).masked_fill(~valid[..., None], 0).unflatten(2, (self.num_groups, -1))
        weight = valid[..., None, None].to(groups.dtype)
        count = weight.sum((1, 3), keepdim=True).clamp(min=1) * groups.shape[3]
        centred = (groups - groups.sum((1, 3), keepdim=True) / count) * weight
        variance = centred.square().sum((1, 3), keepdim=True) / count
        y = (centred * torch.rsqrt(variance + self.eps)).flatten(2)
        return torch.addcmul(upcast(self.bias), y, upcast(self.weight)).to(input.dtype)
