"""Layer-wise learning rates: the deeper a layer lies below the head, the less fine-tuning changes it."""

from collections.abc import Sequence
from typing import Any

from torch import nn
from torch.optim import Optimizer

from zoo.training.fine_tuning.parts import depths


def decay_by_layer(optimizers: Sequence[Optimizer], model: nn.Module, decay: float) -> None:
    """Split each optimizer's groups by depth, and give each the rate times decay ^ (layers below the head).

    Sources: arXiv:1801.06146 sec. 3.2 (discriminative fine-tuning); as one number for all layers, arXiv:2003.10555
    sec. A.2. The head has the full rate.

    Args:
        optimizers: over the model's parameters.
        model: what is fine-tuned.
        decay: factor from a layer to the one below it, in (0, 1].

    Raises:
        ConfigError: If the model has no blocks in an order.
    """
    known = depths(model)
    last = max(known.values())
    by_id = {id(parameter): known[name] for name, parameter in model.named_parameters()}
    for optimizer in optimizers:
        groups = [part for group in optimizer.param_groups for part in _split(group, by_id, last, decay)]
        optimizer.param_groups = groups


def _split(group: dict[str, Any], depth: dict[int, int], last: int, decay: float) -> list[dict[str, Any]]:
    layers: dict[int, list[Any]] = {}
    for parameter in group["params"]:
        layers.setdefault(depth[id(parameter)], []).append(parameter)
    return [
        {**group, "params": parameters, "lr": group["lr"] * decay ** (last - at)}
        for at, parameters in sorted(layers.items())
    ]
