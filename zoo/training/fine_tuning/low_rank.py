"""LoRA (arXiv:2106.09685): linear layers whose weights stay, with a product of two thin matrices added.

W' = W + (ALPHA / rank) B A, A drawn as a linear layer's weights are, B = 0 at first, so that nothing changes. After the
training both are one matrix again.
"""

import math
from collections.abc import Iterator
from copy import deepcopy
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import pad
from torch.nn.utils import parametrize

from zoo.core.layers.protocol import Projects
from zoo.core.transforms.freezing import head_keys, new_keys
from zoo.data.corpus import Batch
from zoo.errors import ConfigError
from zoo.training.objective import Objective

ALPHA = 16
"""Over the rank, it scales what is added, so that the learning rate need not change with the rank (sec. 4.1)."""
PROJECTIONS = ("q", "k", "v", "o")
DEFAULT = "q,v"
"""Which projections of attention, as in sec. 4.2 and 5.1 of the paper."""
EVERY = "all"
_NONE = ", and no linear layers at all; fine-tune it as a whole, with layer_decay=0.75 or freeze='stem'"


class Rows(NamedTuple):
    """Rows of the weight of a linear layer, from `start` to before `stop`."""

    layer: nn.Linear
    start: int
    stop: int


class LowRank(nn.Module):
    """Parametrization that adds a matrix of low rank to some rows of a weight.

    Args:
        rows: which.
        rank: of the matrix.
    """

    def __init__(self, rows: Rows, rank: int) -> None:
        super().__init__()
        weight = rows.layer.weight
        self.above, self.below = rows.start, len(weight) - rows.stop
        self.scale = ALPHA / rank
        self.a = nn.Parameter(weight.new_empty(rank, weight.shape[1]))
        self.b = nn.Parameter(weight.new_zeros(rows.stop - rows.start, rank))
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))

    def forward(self, weight: Float[Tensor, "e d"]) -> Float[Tensor, "e d"]:
        """Give the weight with the product added."""
        added = self.b @ (self.scale * self.a)
        return weight + (pad(added, (0, 0, self.above, self.below)) if self.above or self.below else added)


def add_low_rank(model: nn.Module, asked: str) -> None:
    """Freeze all but the head, and add matrices of low rank, which are trained.

    Args:
        model: what is fine-tuned.
        asked: `RANK` or `RANK:LAYERS`; layers with commas between: `q`, `k`, `v`, `o`, the projections of attention;
            `all`, every linear layer but the head's, the smaller ones by their full rank; or patterns of names such as
            `encoder.blocks.*.mlp.*`.

    Raises:
        ConfigError: If the text is none, the rank is 0 or above what a layer has room for, or there are no such layers.
    """
    rank, layers = _read(asked)
    chosen = list(dict.fromkeys(each for part in layers for each in _matching(model, part, asked)))
    for rows in chosen if EVERY not in layers else ():
        most = _most(rows)
        if rank > most:
            raise ConfigError(f"lora={asked!r}: a matrix of {rows.stop - rows.start} x {rows.layer.weight.shape[1]} "
                              f"has at most rank {most}")  # fmt: skip
    trained = (*head_keys(model), *new_keys(model))
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(parameter.requires_grad and name.startswith(trained))
    for rows in chosen:
        parametrize.register_parametrization(rows.layer, "weight", LowRank(rows, min(rank, _most(rows))))


class ComputedOnce:
    """Objective in which the weight of each layer is added up once a step, however often it is read.

    Args:
        objective: what is asked.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = objective

    def __call__(self, forward: Any, batch: Batch, step: int) -> Tensor:
        """Give the loss."""
        with parametrize.cached():
            return self.objective(forward, batch, step)


def merge(model: nn.Module) -> None:
    """Make one weight of each layer's weight and what was added to it."""
    for layer in list(_changed(model)):
        weight = nn.Parameter(layer.weight.detach())
        del layer.parametrizations  # torch's own way would change the class, which copies of the model share
        layer.__class__ = parametrize.type_before_parametrizations(layer)
        layer._parameters = {"weight": weight, **layer._parameters}


def merged(model: nn.Module) -> nn.Module:
    """Give a copy with merged weights; the model itself where there is nothing to merge."""
    if not any(True for _ in _changed(model)):
        return model
    copy = deepcopy(model)
    merge(copy)
    return copy


def _changed(model: nn.Module) -> Iterator[Any]:
    for part in model.modules():
        known = getattr(part, "parametrizations", None)
        if known is not None and "weight" in known and any(isinstance(each, LowRank) for each in known["weight"]):
            yield part


def _read(asked: str) -> tuple[int, list[str]]:
    rank, _, layers = asked.partition(":")
    if not rank.isdecimal() or not int(rank):
        raise ConfigError(f"lora={asked!r}: write RANK or RANK:LAYERS, such as 8 or 8:q,v")
    return int(rank), [part.strip() for part in (layers or DEFAULT).split(",")]


def _matching(model: nn.Module, part: str, asked: str) -> list[Rows]:
    linear = {name: each for name, each in model.named_modules() if isinstance(each, nn.Linear)}
    body = {name: each for name, each in linear.items() if not f"{name}.".startswith(head_keys(model) or ("\0",))}
    if part in PROJECTIONS:
        found = [Rows(*each.projection(part)) for each in model.modules() if isinstance(each, Projects)]
    else:
        found = [_whole(each) for name, each in body.items() if part == EVERY or fnmatchcase(name, part)]
    if not found:
        kind = "attention" if part in PROJECTIONS else "linear layers of that name"
        listed = ", ".join([*body][:12]) + (f" and {len(body) - 12} more" if len(body) > 12 else "")
        others = f"; write q, k, v, o, all, or a pattern: the linear layers are {listed}" if body else _NONE
        what = f"{part!r} matches nothing" if ":" in asked else f"without layers it is {f'{asked}:{DEFAULT}'!r}"
        raise ConfigError(f"lora={asked!r}: {what}: {type(model).__name__} has no {kind}{others}")
    return found


def _most(rows: Rows) -> int:
    """Give the rank that a matrix of these rows has at most."""
    return min(rows.stop - rows.start, rows.layer.weight.shape[1])


def _whole(layer: nn.Linear) -> Rows:
    return Rows(layer, 0, layer.out_features)
