"""What a faster way changes in the answers, said beside its speed."""

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves


def compare_scores(found: object, wanted: object) -> str:
    """Compare scores, classes last: how often the best class is the same, and the largest error over their deviation.

    Args:
        found: what the faster way gives: tensors or arrays, in lists or alone; the first has the classes.
        wanted: what it should give, in the same order.
    """
    pairs = list(zip(_tensors(found), _tensors(wanted), strict=True))
    first, exact = pairs[0]
    same = (first.argmax(-1) == exact.argmax(-1)).double().mean()
    error = max(float((a - b).abs().max() / b.std().clamp_min(1e-12)) for a, b in pairs)
    return f"{same:.1%} the same best, error {error:.2g} of the deviation"


def compare_choices(found: Tensor, wanted: Tensor) -> str:
    """Tell how many numbers, such as tokens that were written, are the same.

    Args:
        found: what the faster way gives.
        wanted: as many numbers.
    """
    return f"{int((found == wanted).sum())} of {wanted.numel()} tokens the same"


def _tensors(answer: object) -> list[Tensor]:
    return [torch.as_tensor(x).double() for x in tree_leaves(answer)]
