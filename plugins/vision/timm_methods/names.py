"""Names of timm for models that have one here: `vit_small_patch16_224` is `vit-small`. Nothing heavy is imported."""

from collections.abc import Iterable, Mapping
from typing import Any


def vit_architecture(name: str, patch: int) -> str:
    """Name timm's architecture of a vision transformer for images of 224 pixels.

    Args:
        name: here, such as `vit-small-p8`.
        patch: pixels along each side of a patch.
    """
    return "_".join([*name.split("-")[:2], f"patch{patch}_224"])


def names_here(transformers: Mapping[str, Iterable[Any]], networks: Mapping[str, Iterable[Any]]) -> dict[str, str]:
    """Give the name here of each architecture of timm that has one.

    Args:
        transformers: name to a row that begins with the patch size.
        networks: name to a row that begins with timm's name.
    """
    own = {vit_architecture(name, next(iter(row))): name for name, row in transformers.items()}
    return own | {next(iter(row)): name for name, row in networks.items()}


def spelled(name: str) -> str:
    """Give timm's spelling of an architecture: lower case, `_` for `-`."""
    return name.strip().lower().replace("-", "_")
