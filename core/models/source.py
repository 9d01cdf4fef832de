"""`Source`, a whole encoder as the stem of another model, and the bridge between the widths of the two.

Axes: b rows, n vectors, m pooled vectors, d and e channels.
"""

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from zoo.core.errors import ConfigError, InputError
from zoo.core.ops.linear import Linear
from zoo.core.ops.tensor_check import values_known
from zoo.core.patterns.padding import Lengths, Segments
from zoo.core.tokens import Tokens

BRIDGES = "'linear', 'pool:N' (the means of N stretches, such as pool:16) or 'none'"


class Bridge(nn.Module):
    """Bring an encoder's vectors to a decoder's channels: pooled or as many as there are, through a linear layer.

    Args:
        dim: channels of the encoder's vectors.
        decoder_dim: channels of the decoder's.
        pool: vectors that each row is pooled to; as many as there are if None.
        linear: whether there is a linear layer; without, both have the same channels.

    Raises:
        ConfigError: If they have not, or there is nothing to pool to.
    """

    def __init__(self, dim: int, decoder_dim: int, pool: int | None = None, linear: bool = True) -> None:
        super().__init__()
        if not linear and dim != decoder_dim:
            raise ConfigError(
                f"bridge='none' between an encoder of {dim} channels and a decoder of {decoder_dim}: their widths "
                "differ, so write bridge='linear'"
            )
        if pool is not None and pool < 1:
            raise ConfigError(f"bridge='pool:{pool}': at least one vector is needed")
        self.pool = pool
        self.linear = Linear(dim, decoder_dim) if linear else nn.Identity()

    def forward(self, tokens: Tokens) -> Tokens:
        """Give the vectors that the decoder reads; padding stays where it is, and is none where they are pooled.

        Raises:
            InputError: If a row has fewer vectors than it is pooled to.
        """
        if self.pool is not None:
            tokens = Tokens(pooled_stretches(tokens, self.pool))
        return tokens.with_x(self.linear(tokens.x))

    def extra_repr(self) -> str:
        """Return the options that `repr` shows."""
        return "" if self.pool is None else f"pool={self.pool}"


def bridge_of(text: str, dim: int, decoder_dim: int) -> Bridge:
    """Make a bridge of its text: `linear`, `pool:16`, `none`.

    Raises:
        ConfigError: If it is none of these, or does not fit the channels.
    """
    name, colon, count = str(text).partition(":")
    if name == "pool" and count.isdecimal():
        return Bridge(dim, decoder_dim, int(count))
    if colon or name not in ("linear", "none"):
        raise ConfigError(f"bridge={text!r} is not {BRIDGES}")
    return Bridge(dim, decoder_dim, linear=name == "linear")


class Source(nn.Module):
    """Read raw inputs by a whole model without its head, for a decoder behind it.

    A frozen model stays in evaluation mode, so that neither dropout nor running statistics change what it gives.

    Args:
        model: a `Composition`, or what has its `encode`: raw inputs to `Tokens`.
        bridge: to the decoder's channels.

    Raises:
        ConfigError: If the model gives no `Tokens`.
    """

    def __init__(self, model: Any, bridge: Bridge) -> None:
        super().__init__()
        if not callable(getattr(model, "encode", None)):
            raise ConfigError(
                f"{type(model).__name__} has no method encode, raw inputs to Tokens, by which a decoder reads it: "
                "compose it as a zoo.core.Model"
            )
        self.model: Any = model
        self.bridge = bridge
        stem = getattr(model, "stem", None)
        spacing = getattr(stem, "spacing", None)
        if spacing is not None and bridge.pool is None:
            self.spacing = spacing
        precomputed = getattr(model, "precomputed", getattr(stem, "precomputed", None))
        if precomputed is not None:
            self.precomputed = precomputed
        portable = getattr(model, "portable", None)
        if portable is not None:
            self.portable = portable

    def forward(self, *inputs: Any) -> Tokens:
        """Give the vectors that a decoder reads, each set in a row of its own; all others are padding."""
        return self.bridge(in_rows(self.model.encode(*inputs)))

    def input_names(self) -> list[str]:
        """Name the inputs in their order."""
        names = getattr(self.model, "input_names", None)
        return names() if callable(names) else ["*inputs"]

    def train(self, mode: bool = True) -> "Source":
        """Set the mode; a model without a parameter that is trained stays in evaluation mode."""
        super().train(mode)
        if mode and not any(parameter.requires_grad for parameter in self.model.parameters()):
            self.model.eval()
        return self


def in_rows(tokens: Tokens) -> Tokens:
    """Give each of several packed sets, such as the graphs of a batch, a row of its own; other tokens as they are.

    Raises:
        InputError: If there are fewer sets than an id says.
    """
    keys = tokens.keys
    if not isinstance(keys, Segments):
        return Tokens(tokens.x, None, keys)
    if not torch.compiler.is_exporting() and bool((keys.ids >= keys.sets).any()):
        raise InputError(f"a vector is of set {int(keys.ids.max())}, counted from 0, and there are {keys.sets} sets")
    b, n, d = tokens.x.shape
    count = b * keys.sets
    valid = keys.valid(b, n, tokens.x.device)
    first = torch.arange(b, device=valid.device)[:, None] * keys.sets
    ids = torch.where(valid, keys.ids.to(valid.device) + first, count).flatten()  # padding is a set behind the others
    places = torch.arange(b * n, device=valid.device)
    order = (ids * max(b * n, 1) + places).argsort()  # unlike a stable sort and nonzero, it can be exported
    counts = torch.zeros(count + 1, dtype=torch.long, device=valid.device).scatter_add(0, ids, torch.ones_like(ids))
    longest = longest_of(counts[:count])
    ids = ids[order]
    place = ids * longest + torch.where(ids < count, places - (counts.cumsum(0) - counts)[ids], 0)
    x = tokens.x.new_zeros(count * longest + 1, d).index_copy(0, place, tokens.x.flatten(0, 1)[order])
    return Tokens(x[:-1].view(count, longest, d), None, Lengths(counts[:count]))


def longest_of(counts: Int[Tensor, " s"]) -> Any:
    """Give the size of the largest set, at least 1; in a program that is traced a symbol, which follows the values."""
    if not torch.compiler.is_exporting():
        return max(int(counts.max()) if len(counts) else 0, 1)
    longest: Any = counts.max().clamp(min=1).item()
    torch._check(longest >= 1)
    return longest


def pooled_stretches(tokens: Tokens, count: int) -> Float[Tensor, "b m d"]:
    """Pool the vectors that are there to the means of so many stretches of a row, as adaptive average pooling does.

    Stretch i of n vectors goes from ⌊i n / m⌋ up to ⌈(i + 1) n / m⌉.

    Raises:
        InputError: If a row has fewer vectors.
    """
    b, n = tokens.x.shape[:2]
    valid = tokens.valid()
    if valid is None:
        valid = torch.ones(b, n, dtype=torch.bool, device=tokens.x.device)
    counts = valid.sum(1, keepdim=True)
    if values_known(counts) and bool((counts < count).any()):
        row = int((counts[:, 0] < count).nonzero()[0, 0])
        raise InputError(
            f"bridge='pool:{count}' with {int(counts[row])} vectors in row {row}: it pools to no more than there are, "
            f"so write pool:{max(int(counts[row]), 1)} or less, or bridge='linear'"
        )
    inside = _members(valid, counts, count)
    weights = inside.to(tokens.x.dtype) / inside.sum(2, keepdim=True).clamp(min=1).to(tokens.x.dtype)
    return weights @ tokens.without_padding().x


def _members(valid: Bool[Tensor, "b n"], counts: Tensor, count: int) -> Bool[Tensor, "b m n"]:
    """Tell which vectors belong to which stretch."""
    place = (valid.long().cumsum(1) - 1)[:, None]
    stretch = torch.arange(count, device=valid.device)[None, :, None]
    total = counts[:, None]
    first, behind = stretch * total // count, ((stretch + 1) * total + count - 1) // count
    return (place >= first) & (place < behind) & valid[:, None]
