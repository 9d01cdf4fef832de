"""Properties of architectures from timm's registry: weights, image size, and the kind of token mixing."""

from dataclasses import dataclass
from difflib import get_close_matches

import timm
import torch
from torch import nn

from zoo import Kind, UnknownModelError

MISSPELT = 0.9
"""Likeness from which on a name without `timm:` is taken for a misspelt one of timm; 1 is equal."""


@dataclass(frozen=True)
class Architecture:
    """Describe one architecture of timm."""

    architecture: str
    tag: str
    """The weights that were asked for, if any were."""
    tags: tuple[str, ...]
    """Of its published weights, timm's default first; the one that was asked for alone."""
    image_size: int
    in_chans: int
    kind: Kind
    classifier: tuple[str, ...]
    """Modules that give the labels: `fc`, or `head` and `head_dist`."""


def describe(name: str) -> Architecture | None:
    """Look up `architecture` or `architecture.tag`; None if timm has no such architecture.

    Raises:
        UnknownModelError: If the architecture has no weights of that tag.
    """
    architecture, _, tag = name.partition(".")
    if not timm.is_model(architecture):
        return None
    tags = [full.partition(".")[2] for full in timm.list_pretrained(f"{architecture}.*")]
    if tag and tag not in tags:
        valid = ", ".join(tags) or "none"
        raise UnknownModelError(f"Unknown tag ({tag}) of model 'timm:{architecture}'. Valid tags: {valid}.")
    cfg = timm.get_pretrained_cfg(name)
    default = getattr(timm.get_pretrained_cfg(architecture), "tag", "")
    ordered = [tag] if tag else sorted(tags, key=lambda each: each != default)
    in_chans, image_size, _ = cfg.input_size if cfg else (3, 224, 224)
    names = (cfg.classifier if cfg else None) or ()
    classifier = (names,) if isinstance(names, str) else tuple(names)
    return Architecture(architecture, tag, tuple(ordered), image_size, in_chans, kind_of(architecture), classifier)


def unknown(architecture: str, prefix: str = "timm:", likeness: float = 0.6) -> UnknownModelError:
    """Give the error of an architecture that timm does not have, with the nearest names.

    Args:
        architecture: as it was asked for.
        prefix: as it was asked for.
        likeness: of names that are near, in [0, 1].
    """
    every = timm.list_models()
    near = near_names(architecture, likeness)
    hint = f" Did you mean {' or '.join(repr(f'{prefix}{name}') for name in near)}?" if near else ""
    return UnknownModelError(
        f"Unknown model ({prefix}{architecture}).{hint}\n"
        f"timm has {len(every):,} architectures: timm.list_models('*vit*')"
    )


def near_names(architecture: str, likeness: float) -> list[str]:
    """Give at most three of timm's architectures whose names are as like this one, the nearest first."""
    base = architecture.strip().lower().replace("-", "_").partition(".")[0]
    return get_close_matches(base, timm.list_models(), n=3, cutoff=likeness)


def kind_of(architecture: str) -> Kind:
    """Tell attention, convolution and hybrid apart by the layers, on the meta device; patch embeddings do not count."""
    with torch.device("meta"):
        net = timm.create_model(architecture)
    attends = any(hasattr(part, "num_heads") for part in net.modules())
    convolutions = [part for part in net.modules() if isinstance(part, nn.Conv2d) and part.kernel_size != part.stride]
    if not attends:
        return "convolution"
    return "hybrid" if any(max(part.kernel_size) > 1 for part in convolutions) else "attention"
