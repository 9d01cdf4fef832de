"""The convolution module of the Conformer, arXiv:2005.08100 sec. 2.2, with padding masked out.

Frames stay in the middle axis, channels last, from end to end: the depthwise convolution is faster so, and pointwise
ones are matrix products. Axes: b rows, n frames, d channels, e channels again.
"""

from collections.abc import Callable
from copy import deepcopy

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import glu, pad

from zoo.core import Chain, ConfigError, Linear, Pointwise, Segments, Tokens, Windows, silu
from zoo.plugins.conformer.depthwise import Convolved, convolved, prefers_products
from zoo.plugins.conformer.frame_norm import FrameBatchNorm

FEW = 32
"""Frames up to which taps are added up faster than PyTorch's convolution begins: 4 of 144 channels in 11 us, not 49."""


def same(kernel_size: int) -> tuple[int, int]:
    """Give the padding of a kernel that stands in the middle; an even one reaches a frame further ahead: (15, 16)."""
    return (kernel_size - 1) // 2, kernel_size // 2


def causal(kernel_size: int) -> tuple[int, int]:
    """Give the padding of a kernel that only looks back, for streaming."""
    return kernel_size - 1, 0


class ConvolutionModule(nn.Module):
    """Layer norm, pointwise convolution and gate, depthwise convolution, norm, swish, pointwise convolution.

    Args:
        dim: channels.
        kernel_size: frames that the depthwise convolution reads, odd or even.
        padding: how many of them stand to the left of a frame and to its right; `same(kernel_size)` if None.
        norm: makes the norm behind the depthwise convolution from `dim`; called with vectors and keys.
        bias: whether the convolutions add a bias.
        eps: of the layer norm.
    """

    def __init__(
        self,
        dim: int,
        kernel_size: int = 32,
        *,
        padding: tuple[int, int] | None = None,
        norm: Callable[[int], nn.Module] = FrameBatchNorm,
        bias: bool = True,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=eps)
        self.gated = Linear(dim, 2 * dim, bias=bias)
        self.depthwise = Depthwise(dim, kernel_size, padding, bias=bias)
        self.inner_norm = norm(dim)
        self.out = Linear(dim, dim, bias=bias)

    def forward(self, tokens: Tokens) -> Float[Tensor, "b n d"]:
        """Convolve each frame with its neighbours."""
        x = glu(self.gated(self.norm(tokens.x)))
        x = self.depthwise(tokens.with_x(x))
        return self.out(silu(self.inner_norm(x, tokens.keys)))

    def stream(self) -> Chain:
        """Give the stage that does the same while frames come; it waits for those to the right of each.

        Raises:
            ConfigError: If the norm takes its statistics from all of them.
        """
        if not getattr(self.inner_norm, "by_frame", False):
            raise ConfigError(
                f"{type(self.inner_norm).__name__} takes its statistics from a whole sound: a convolution with "
                "norm='batch' or norm='layer' answers while it comes"
            )
        first = Pointwise(lambda x: glu(self.gated(self.norm(x))))
        if isinstance(self.inner_norm, FrameBatchNorm) and not self.inner_norm.training:
            folded = self.depthwise.followed_by(*self.inner_norm.factors())
            return Chain([first, folded.stream(), Pointwise(lambda x: self.out(silu(x)))])
        return Chain([first, self.depthwise.stream(), Pointwise(lambda x: self.out(silu(self.inner_norm(x))))])


class Depthwise(nn.Module):
    """Depthwise convolution along the frames; padding and other sequences of a row count as zeros.

    Args:
        dim: channels.
        kernel_size: frames that are read.
        padding: how many of them stand to the left of a frame and to its right; `same(kernel_size)` if None.
        bias: whether a bias is added.

    Raises:
        ConfigError: If there is no frame to read, or the padding is not that of this kernel.
    """

    def __init__(
        self, dim: int, kernel_size: int, padding: tuple[int, int] | None = None, *, bias: bool = True
    ) -> None:
        super().__init__()
        if kernel_size < 1:
            raise ConfigError(f"kernel_size={kernel_size}: a convolution reads at least one frame")
        self.padding = same(kernel_size) if padding is None else padding
        if min(self.padding) < 0 or sum(self.padding) != kernel_size - 1:
            raise ConfigError(
                f"padding={padding} for kernel_size={kernel_size}: left + right must be {kernel_size - 1}"
            )
        self.kernel_size = kernel_size
        bound = kernel_size**-0.5  # as nn.Conv1d draws
        self.weight = nn.Parameter(torch.empty(dim, 1, kernel_size).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(dim).uniform_(-bound, bound)) if bias else None

    def forward(self, tokens: Tokens) -> Float[Tensor, "b n d"]:
        """Convolve."""
        if isinstance(tokens.keys, Segments) and is_full(tokens.keys):
            return self.convolve_each(tokens.x, tokens.keys.unpacked.lengths.tolist())
        x = tokens.without_padding().x
        if not isinstance(tokens.keys, Segments):
            return self.convolve(x)
        place = spread(tokens.keys.ids.to(x.device), max(self.padding))[..., None].expand_as(x)
        length = int(place.max()) + 1 if place.numel() else 0
        apart = x.new_zeros(x.shape[0], length, x.shape[2]).scatter(1, place, x)
        return self.convolve(apart).gather(1, place)

    def convolve_each(self, x: Float[Tensor, "1 n d"], lengths: list[int]) -> Float[Tensor, "1 n d"]:
        """Convolve sets that fill a row, in one row with zeros between them."""
        left, right = self.padding
        gap = x.new_zeros(1, max(left, right), x.shape[2])
        parts = [gap[:, :left]]
        for part in x.split(lengths, 1):
            parts += [part, gap]
        parts[-1] = gap[:, :right]
        y = self.inside(torch.cat(parts, 1))
        wanted = y.split([size for length in lengths for size in (length, gap.shape[1])][:-1], 1)
        return torch.cat(wanted[::2], 1)

    def convolve(self, x: Float[Tensor, "b n d"]) -> Float[Tensor, "b n d"]:
        """Convolve rows of one set each; in two dimensions, which take channels last: twice as fast as one."""
        if x.shape[1] == 0:
            return x
        left, right = self.padding
        if left == right:
            return self.inside(x, left)
        return self.inside(pad(x, (0, 0, left, right)))

    def inside(self, x: Float[Tensor, "b n d"], around: int = 0) -> Float[Tensor, "b m d"]:
        """Convolve where the whole kernel has something to read, with so many zeros in front and behind."""
        if prefers_products(x, self.weight):
            y: Tensor = Convolved.apply(x, self.weight, self.bias, around)
            return y
        return convolved(x, self.weight, self.bias, around)

    @torch.no_grad()
    def followed_by(self, scale: Float[Tensor, " d"], shift: Float[Tensor, " d"]) -> "Depthwise":
        """Give a convolution whose answer is this one's times `scale`, plus `shift`, for inference."""
        one = deepcopy(self)
        one.weight.mul_(scale[:, None, None])
        bias = shift if self.bias is None else torch.addcmul(shift, self.bias.to(shift.dtype), scale)
        one.bias = nn.Parameter(bias.to(self.weight.dtype))
        return one.requires_grad_(False)

    def stream(self) -> Windows:
        """Give the stage that does the same while frames come."""
        taps = self.weight.detach()[:, 0].T.contiguous()

        def apply(x: Tensor) -> Tensor:
            if torch.compiler.is_exporting() or len(x) * (x.shape[1] - self.kernel_size + 1) > FEW:
                return self.inside(x)
            y = (x.unfold(1, self.kernel_size, 1).mT * taps).sum(2)
            return y if self.bias is None else y + self.bias

        return Windows(apply, self.weight.shape[:1], self.kernel_size, padding=self.padding)

    def extra_repr(self) -> str:
        """Return the options that `repr` shows."""
        return f"{self.weight.shape[0]}, kernel_size={self.kernel_size}, padding={self.padding}"


def is_full(keys: Segments) -> bool:
    """Tell whether sets in one piece each fill a single row, as packing lays them."""
    return len(keys.ids) == 1 and keys.contiguous and 0 < len(keys.unpacked.index) == keys.ids.numel()


def spread(ids: Int[Tensor, "b n"], gap: int) -> Int[Tensor, "b n"]:
    """Give each frame a place such that `gap` empty ones stand between the sets of a row.

    Args:
        ids: which set each frame belongs to; negative where none is, which parts no set.
        gap: empty places.
    """
    index = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
    last = index.masked_fill(ids < 0, 0).cummax(1).values  # the last frame that was there
    filled = ids.gather(1, last)
    new = torch.zeros_like(index)
    new[:, 1:] = filled[:, 1:] != filled[:, :-1]
    return index + gap * new.cumsum(1)
