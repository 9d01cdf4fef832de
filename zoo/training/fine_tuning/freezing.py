"""Freezing: parts of a model whose weights, and whose running statistics, stay as they are."""

from fnmatch import fnmatchcase
from typing import Any

from torch import Tensor, nn

from zoo.data.corpus import Batch
from zoo.errors import ConfigError
from zoo.training.fine_tuning.parts import head_keys, new_keys
from zoo.training.objective import Objective

ENCODER, STEM, DECODER = "encoder", "stem", "decoder"


def freeze(model: nn.Module, parts: str) -> None:
    """Let no gradient move some parameters.

    Args:
        model: what is fine-tuned.
        parts: with commas between: `encoder` for all but the head, or, of a model that writes, for what reads the
            source; `decoder`; `stem` for what makes vectors of the input; or patterns of names such as
            `encoder.blocks.0.*`. What no weights hold, in joined models, is in none of the first three.

    Raises:
        ConfigError: If a part matches nothing, or all together match everything.
    """
    names = [name for name, _ in model.named_parameters()]
    frozen = {name for part in parts.split(",") for name in _matching(model, part.strip(), names, parts)}
    if frozen.issuperset(names):
        raise ConfigError(f"freeze={parts!r} leaves nothing to train: the parts are {_shown(names)}")
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(parameter.requires_grad and name not in frozen)


class KeepFrozen:
    """Objective with frozen parts in evaluation mode: no dropout, and the statistics of batch norms stay.

    Args:
        objective: what is asked.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.still: list[nn.Module] | None = None

    def __call__(self, forward: Any, batch: Batch, step: int) -> Tensor:
        """Give the loss."""
        if self.still is None:
            self.still = [inner for part in forward.modules() if _is_frozen(part) for inner in part.modules()]
        for part in self.still:
            part.training = False
        return self.objective(forward, batch, step)


def _is_frozen(part: nn.Module) -> bool:
    parameters = list(part.parameters())
    return bool(parameters) and not any(parameter.requires_grad for parameter in parameters)


def _matching(model: nn.Module, part: str, names: list[str], given: str) -> list[str]:
    known = _parts(model, names)
    found = known.get(part) or [name for name in names if fnmatchcase(name, part) or name.startswith(f"{part}.")]
    if not found:
        raise ConfigError(f"freeze={given!r}: {part!r} matches no weights: the parts are {_shown(names)}")
    return found


def _parts(model: nn.Module, names: list[str]) -> dict[str, list[str]]:
    """Give the names of the parameters of each part that has a name of its own."""
    new, heads = new_keys(model), head_keys(model)
    old = [name for name in names if not name.startswith(new)]
    stem = [name for name in old if name.startswith("stem.")]
    writes = any(name.startswith("decoder.") for name in names)
    joined = [name for name in old if name.startswith("stem.model.")] if new else []
    encoder = joined or [
        name
        for name in old
        if (name.startswith(("stem.", "encoder.")) if writes else not name.startswith((*heads, "target.")))
    ]
    decoder = [name for name in old if name not in joined] if joined else []
    return {ENCODER: encoder, STEM: stem, DECODER: decoder}


def _shown(names: list[str]) -> str:
    """Name the parts, down to single blocks."""
    parts = dict.fromkeys(".".join(name.split(".")[:-1][:3]) or name for name in names)
    listed = list(parts)
    return ", ".join(listed[:12]) + (f" and {len(listed) - 12} more" if len(listed) > 12 else "")
