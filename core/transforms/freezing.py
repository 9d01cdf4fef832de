"""Freezing: parts of a model, by name, whose weights no gradient moves."""

from fnmatch import fnmatchcase
from typing import Any

from torch import nn

from zoo.core.errors import ConfigError

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


def head_keys(model: nn.Module) -> tuple[str, ...]:
    """Give the beginnings of the names of the head's parameters."""
    spec: Any = getattr(model, "spec", None)
    named: tuple[str, ...] = () if spec is None else spec.classifier
    own = any(name.startswith("head.") for name, _ in model.named_parameters())
    return tuple(dict.fromkeys([*named, *(["head."] if own else [])]))


def new_keys(model: nn.Module) -> tuple[str, ...]:
    """Give the beginnings of the names of what no weights hold: in joined models, the bridge and inserted attention."""
    new: tuple[str, ...] = getattr(model, "new_parts", ())
    return tuple(f"{part}." for part in new)


def _matching(model: nn.Module, part: str, names: list[str], given: str) -> list[str]:
    known = _parts(model, names)
    found = known.get(part) or (_first_layer(model, names) if part == STEM else [])
    found = found or [name for name in names if fnmatchcase(name, part) or name.startswith(f"{part}.")]
    if not found:
        raise ConfigError(f"freeze={given!r}: {part!r} matches no weights: the parts are {_shown(names)}")
    return found


def _first_layer(model: nn.Module, names: list[str]) -> list[str]:
    """Give the parameters that make vectors in a model without a part called stem.

    These are what a network of timm orders first, and the embedding of a model that writes, by which it reads, too.
    """
    depths: Any = getattr(model, "parameter_depths", None)
    if depths is not None:
        return [name for name, depth in depths().items() if depth == 0]
    return [name for name in names if name.startswith("target.")]


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
