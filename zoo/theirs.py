"""What to say of a folder or repository that holds a model of Hugging Face transformers, which is no name of ours."""

from collections.abc import Mapping
from typing import Any

from zoo.keyword_aliases import OURS
from zoo.names import split_prefix
from zoo.registry import registry

_OWN = ("dim", "depth", "num_heads", "mlp_dim", "patch_size")
"""Sizes that a name stands for; the others are often changed."""
_SIZES = (*_OWN, "vocab_size", "max_len", "image_size")


def of_transformers(reference: str, config: Mapping[str, Any]) -> str:
    """Say by which name a model is made that takes its weights; nothing where it is no such model.

    Args:
        reference: where it is.
        config: what its `config.json` says.
    """
    family = config.get("model_type")
    if not isinstance(family, str):
        return ""
    told = f": it holds a {family!r} of Hugging Face transformers"
    sizes = {OURS.get(key, key): value for key, value in config.items() if value is not None}
    if isinstance(sizes.get("dim"), int):
        sizes.setdefault("mlp_dim", 4 * sizes["dim"])  # as GPT-2's, where it says nothing
    others = {
        spec.name: {
            key: sizes[key] for key in _SIZES if key in sizes and sizes[key] != spec.config.get(key, sizes[key])
        }
        for spec in registry().models
        if spec.name.startswith(f"{family}-")
    }
    if not others:
        return f"{told}, and no model here is of that family"
    same = (name for name, differ in others.items() if not any(key in differ for key in _OWN))
    name = next(same, next(iter(others)))
    keywords = "".join(f", {key}={value!r}" for key, value in others[name].items())
    prefix, place = split_prefix(reference)
    weights = place if prefix == "local-dir" else reference
    return f"{told}, whose weights a name takes: zoo.create('{name}', weights={weights!r}{keywords})"
