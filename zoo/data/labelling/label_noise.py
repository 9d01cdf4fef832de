"""Symmetric label noise: labels that are replaced by others at random (arXiv:1406.2080 sec. 3).

Axes: n examples.
"""

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor


def noisy(classes: Int[Tensor, " n"], noise: float, seed: tuple[int, ...], num_classes: int) -> Int[Tensor, " n"]:
    """Replace each class, with the probability `noise`, by one of the others, all of them alike.

    What happens to an example follows from the seed, its class and its rank among the examples of that class: with more
    examples behind, or more noise, what was replaced stays replaced, by the same class. -100 stays.
    """
    found = classes.clone()
    for own in classes[classes >= 0].unique().tolist():
        places = (classes == own).nonzero().flatten()
        drawn, which = np.random.default_rng((*seed, own)).random((len(places), 2)).T
        other = np.floor(which * (num_classes - 1)).astype(np.int64)
        replaced = np.where(drawn < noise, other + (other >= own), own)
        found[places] = torch.from_numpy(replaced).to(found.dtype)
    return found
