"""Losses: of one class, of several labels, of numbers.

Axes: b rows, h heads, q queries (what is written), k keys (what is read).
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from zoo.core.errors import ConfigError, InputError

IGNORED = -100
"""Target of positions that the loss ignores: padding, prompts, words that were not masked."""


def cross_entropy(
    answer: Float[Tensor, "*places classes"],
    target: Int[Tensor, "*places"] | Float[Tensor, "*places classes"],
    smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """Give the mean over the positions that have a target; 0, with gradient 0, where none is.

    Args:
        answer: scores before the softmax.
        target: the right class of each place, -100 where there is no target; or the share of each class, as mixup makes
            it, 0 for all where there is none.
        smoothing: share of the right answer, in [0, 1), that is spread evenly over all classes: arXiv:1512.00567
            sec. 7.

    Raises:
        ConfigError: If the smoothing is no such share.
        InputError: If a target is no class.
    """
    if not 0 <= smoothing < 1:
        raise ConfigError(f"smoothing={smoothing} is not in [0, 1)")
    classes = answer.shape[-1]
    if target.is_floating_point():
        mass = target.sum(-1, keepdim=True)
        shares = target * (1 - smoothing) + mass * (smoothing / classes)
        return -(shares * functional.log_softmax(answer, -1)).sum() / mass.sum().clamp(min=1e-6)
    _check_classes(target, classes)
    flat, known = answer.reshape(-1, classes), target.reshape(-1)
    total = functional.cross_entropy(flat, known, ignore_index=IGNORED, reduction="sum", label_smoothing=smoothing)
    return total / count_targets(target).clamp(min=1)


def binary_cross_entropy(
    answer: Float[Tensor, "*places labels"], target: Tensor, smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """Give the mean over the labels that have a target, each right or not; 0, with gradient 0, for none.

    Args:
        answer: scores before the sigmoid.
        target: 1 for labels that are right, 0 for others, NaN where there is no target.
        smoothing: how much of the right answer, in [0, 1), is given to both alike.

    Raises:
        ConfigError: If the smoothing is no such share.
        InputError: If a target is neither of the three, or the shapes differ.
    """
    if not 0 <= smoothing < 1:
        raise ConfigError(f"smoothing={smoothing} is not in [0, 1)")
    known = _known(answer, target)
    if _looked_at(target) and bool(((target != 0) & (target != 1) & known).any()):
        raise InputError(f"target {target[(target != 0) & (target != 1) & known][0].item()}: a label is 0, 1 or NaN")
    wanted = torch.where(known, target, 0.5).to(answer.dtype) * (1 - smoothing) + smoothing / 2
    each = functional.binary_cross_entropy_with_logits(answer, wanted, reduction="none")
    return each.masked_fill(~known, 0).sum() / known.sum().clamp(min=1)


def squared_error(
    answer: Float[Tensor, "*places numbers"], target: Tensor, smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """Give the mean over the numbers that have a target; 0, with gradient 0, where none is.

    Args:
        answer: predictions.
        target: numbers; NaN where there is no target.
        smoothing: of labels, of which there are none: 0.

    Raises:
        ConfigError: If labels shall be smoothed.
        InputError: If the shapes differ.
    """
    if smoothing:
        raise ConfigError(f"smoothing={smoothing} of numbers: only labels are smoothed")
    known = _known(answer, target)
    off = (answer - torch.where(known, target, 0).to(answer.dtype)).masked_fill(~known, 0)
    return (off**2).sum() / known.sum().clamp(min=1)


TARGETS = {"class": cross_entropy, "labels": binary_cross_entropy, "numbers": squared_error}
"""What answers are held against: the one class that is right, labels of which any may be, or numbers; and the loss."""


def count_targets(target: Tensor) -> Int[Tensor, ""]:
    """Count the targets that are neither `IGNORED` nor NaN."""
    return (~target.isnan() if target.is_floating_point() else target != IGNORED).sum()


def _check_classes(target: Tensor, classes: int) -> None:
    """Refuse targets outside the classes; on an accelerator looking would wait for it, and its own check reports."""
    if not _looked_at(target):
        return
    bad = ((target < 0) | (target >= classes)) & (target != IGNORED)
    if bool(bad.any()):
        raise InputError(
            f"target {int(target[bad][0])}: the answer has {classes} classes, 0 … {classes - 1}; "
            f"{IGNORED} marks positions without a target"
        )


def _looked_at(target: Tensor) -> bool:
    """Tell whether values are checked."""
    return target.device.type == "cpu" and not torch.compiler.is_compiling()


def _known(answer: Tensor, target: Tensor) -> Bool[Tensor, "*places labels"]:
    """Tell which targets, as numbers, are not NaN."""
    if answer.shape != target.shape or not target.is_floating_point():
        shown = f"target of shape {tuple(target.shape)} and {target.dtype}"
        raise InputError(f"{shown} for an answer of {tuple(answer.shape)}: they are floating and of one shape")
    return ~target.isnan()
