"""Losses: of one class, of several labels, of numbers; and two priors on the alignment that cross-attention finds.

Axes: b rows, h heads, q queries (what is written), k keys (what is read).
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from zoo.core.errors import ConfigError, InputError

IGNORED = -100
"""Target of places where nothing is asked: padding, prompts, words that were not masked."""

Lengths = Int[Tensor, " b"] | None
"""How many of each row are there; None for all."""


def cross_entropy(
    answer: Float[Tensor, "*places classes"], target: Int[Tensor, "*places"], smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """Give the mean over the places that are asked; 0, with gradient 0, where none is.

    Args:
        answer: scores before the softmax.
        target: the right class of each place, -100 where nothing is asked.
        smoothing: share of the right answer, in [0, 1), that is spread evenly over all classes: arXiv:1512.00567
            sec. 7.

    Raises:
        ConfigError: If the smoothing is no such share.
        InputError: If a target is no class.
    """
    if not 0 <= smoothing < 1:
        raise ConfigError(f"smoothing={smoothing} is not in [0, 1)")
    classes = answer.shape[-1]
    _check_classes(target, classes)
    flat, asked = answer.reshape(-1, classes), target.reshape(-1)
    total = functional.cross_entropy(flat, asked, ignore_index=IGNORED, reduction="sum", label_smoothing=smoothing)
    return total / count_asked(target).clamp(min=1)


def binary_cross_entropy(
    answer: Float[Tensor, "*places labels"], target: Tensor, smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """Give the mean over the labels that are asked, of which each is right or not; 0, with gradient 0, for none.

    Args:
        answer: scores before the sigmoid.
        target: 1 for labels that are right, 0 for others, NaN where nothing is asked.
        smoothing: how much of the right answer, in [0, 1), is given to both alike.

    Raises:
        ConfigError: If the smoothing is no such share.
        InputError: If a target is neither of the three, or the shapes differ.
    """
    if not 0 <= smoothing < 1:
        raise ConfigError(f"smoothing={smoothing} is not in [0, 1)")
    asked = _asked(answer, target)
    if _looked_at(target) and bool(((target != 0) & (target != 1) & asked).any()):
        raise InputError(f"target {target[(target != 0) & (target != 1) & asked][0].item()}: a label is 0, 1 or NaN")
    wanted = torch.where(asked, target, 0.5).to(answer.dtype) * (1 - smoothing) + smoothing / 2
    each = functional.binary_cross_entropy_with_logits(answer, wanted, reduction="none")
    return each.masked_fill(~asked, 0).sum() / asked.sum().clamp(min=1)


def squared_error(
    answer: Float[Tensor, "*places numbers"], target: Tensor, smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """Give the mean over the numbers that are asked; 0, with gradient 0, where none is.

    Args:
        answer: predictions.
        target: numbers; NaN where nothing is asked.
        smoothing: of labels, of which there are none: 0.

    Raises:
        ConfigError: If labels shall be smoothed.
        InputError: If the shapes differ.
    """
    if smoothing:
        raise ConfigError(f"smoothing={smoothing} of numbers: only labels are smoothed")
    asked = _asked(answer, target)
    off = (answer - torch.where(asked, target, 0).to(answer.dtype)).masked_fill(~asked, 0)
    return (off**2).sum() / asked.sum().clamp(min=1)


TARGETS = {"class": cross_entropy, "labels": binary_cross_entropy, "numbers": squared_error}
"""What answers are held against: the one class that is right, labels of which any may be, or numbers; and the loss."""


def count_asked(target: Tensor) -> Int[Tensor, ""]:
    """Count the places at which something is asked."""
    return (~target.isnan() if target.is_floating_point() else target != IGNORED).sum()


def guided_attention(
    weights: Float[Tensor, "b h q k"], queries: Lengths = None, keys: Lengths = None, sigma: float = 0.2
) -> Float[Tensor, ""]:
    """Penalise attention away from the diagonal: arXiv:1710.08969 sec. 4.1, eq. 6.

    Args:
        weights: attention weights, rows that sum to 1.
        queries: queries of each row.
        keys: keys of each row.
        sigma: width of the diagonal that is left alone, as a share of the lengths (g in the paper).

    Returns:
        The mean over pairs that are there; 0 where none is.

    Raises:
        ConfigError: If the width is not positive.
    """
    if sigma <= 0:
        raise ConfigError(f"sigma={sigma}: the diagonal has a positive width")
    at_query, there_query = _places(weights, 2, queries)
    at_key, there_key = _places(weights, 3, keys)
    far = at_key[:, None, :] - at_query[:, :, None]
    penalty = 1 - torch.exp(-(far**2) / (2 * sigma**2))
    there = there_query[:, :, None] & there_key[:, None, :]
    total = (weights * (penalty * there)[:, None]).sum()
    return total / (there.sum() * weights.shape[1]).clamp(min=1)


def monotonic(
    weights: Float[Tensor, "b h q k"], queries: Lengths = None, keys: Lengths = None, margin: float = 0.0
) -> Float[Tensor, ""]:
    """Penalise attention whose mean position goes back from one query to the next: arXiv:2104.03945 sec. 3.

    Args:
        weights: attention weights, rows that sum to 1.
        queries: queries of each row.
        keys: keys of each row.
        margin: share of the even pace (all keys in all queries) by which the position has to advance.

    Returns:
        The mean way back, as a share of the keys, over pairs of neighbouring queries; 0 where there are none.
    """
    at_key, _ = _places(weights, 3, keys)
    _, there = _places(weights, 2, queries)
    position = torch.einsum("bhqk,bk->bhq", weights, at_key.to(weights.dtype))
    wanted = margin / there.sum(1).clamp(min=1)
    back = (position[..., :-1] - position[..., 1:] + wanted[:, None, None]).clamp(min=0)
    pairs = there[:, 1:]
    return (back * pairs[:, None]).sum() / (pairs.sum() * weights.shape[1]).clamp(min=1)


def _places(weights: Tensor, axis: int, lengths: Lengths) -> tuple[Float[Tensor, "b n"], Tensor]:
    """Give where each query or key stands, as a share of its row's length, and whether it is there."""
    batch, size = weights.shape[0], weights.shape[axis]
    index = torch.arange(size, device=weights.device)
    if lengths is None:
        lengths = torch.full((batch,), size)
    length = lengths.to(weights.device)[:, None]
    return index / length.clamp(min=1), index < length


def _check_classes(target: Tensor, classes: int) -> None:
    """Refuse targets outside the classes; on an accelerator looking would wait for it, and its own check reports."""
    if not _looked_at(target):
        return
    bad = ((target < 0) | (target >= classes)) & (target != IGNORED)
    if bool(bad.any()):
        raise InputError(
            f"target {int(target[bad][0])}: the answer has {classes} classes, 0 … {classes - 1}; "
            f"{IGNORED} marks places where nothing is asked"
        )


def _looked_at(target: Tensor) -> bool:
    """Tell whether values are checked."""
    return target.device.type == "cpu" and not torch.compiler.is_compiling()


def _asked(answer: Tensor, target: Tensor) -> Bool[Tensor, "*places labels"]:
    """Tell where something is asked, of targets that are numbers."""
    if answer.shape != target.shape or not target.is_floating_point():
        shown = f"target of shape {tuple(target.shape)} and {target.dtype}"
        raise InputError(f"{shown} for an answer of {tuple(answer.shape)}: they are floating and of one shape")
    return ~target.isnan()
