"""Where vectors go when those that are there come first in their row, and padding behind them.

Counted, not sorted: a stable sort has no form in ONNX. Axes: b rows, n and m places of a row, d channels.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def front_places(valid: Bool[Tensor, "*rows n"]) -> Int[Tensor, "*rows n"]:
    """Give the place that each vector goes to; both those that are there and the others keep their order.

    Args:
        valid: which vectors are there.
    """
    there = valid.long().cumsum(-1)
    others = there[..., -1:] + (~valid).long().cumsum(-1)
    return torch.where(valid, there, others) - 1


def front_order(valid: Bool[Tensor, "*rows n"]) -> Int[Tensor, "*rows n"]:
    """Give, for each place, where the vector stood that goes there: the inverse of `front_places`.

    Args:
        valid: which vectors are there.
    """
    places = front_places(valid)
    return torch.empty_like(places).scatter(
        -1, places, torch.arange(valid.shape[-1], device=valid.device).expand_as(places)
    )


def vectors_at(x: Float[Tensor, "b n d"], places: Int[Tensor, "b m"]) -> Float[Tensor, "b m d"]:
    """Take the vectors that stand at places of their row.

    Args:
        x: vectors.
        places: for each vector wanted, where it stands.
    """
    return x.gather(1, places[..., None].expand(-1, -1, x.shape[2]))
