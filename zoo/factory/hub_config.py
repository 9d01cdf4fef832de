"""The model that a repository's `config.json` describes.

Of a folder of Hugging Face transformers, the error names the model here that takes its weights.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from zoo.errors import WeightsError
from zoo.factory.keyword_aliases import KEYWORD_ALIASES
from zoo.names import split_prefix
from zoo.registry.lookup import registry
from zoo.spec import ModelSpec
from zoo.weights import hub

_OWN = ("dim", "depth", "num_heads", "mlp_dim", "patch_size")
"""Sizes that a name stands for; the others are often changed."""
_SIZES = (*_OWN, "vocab_size", "max_len", "image_size")


def spec_of(reference: str) -> ModelSpec:
    """Read what a repository's `config.json` says was built.

    Raises:
        WeightsError: If there is no such file, or it names no architecture.
        UnknownModelError: If no plugin has the architecture.
    """
    config = hub.read_config(reference)
    if not isinstance(config.get("architecture"), str):
        raise WeightsError(
            f"{reference!r} has no config.json that names an architecture{_of_transformers(reference, config)}"
        )
    settings = dict(config.get("model_args") or {})
    if config.get("num_classes") is not None:
        settings["num_classes"] = config["num_classes"]
    spec, _ = registry().find(_architecture(config))
    spec = spec.with_config(**settings)
    return replace(spec, task=settings.get("task", spec.task), weights={"hub": reference})


def _architecture(config: dict[str, Any]) -> str:
    """Give the name that the registry finds; a `config.json` without `zoo_version` was written by timm."""
    name = config["architecture"]
    if "zoo_version" not in config:
        return f"timm:{name}"
    return f"{config['plugin']}:{name}" if config.get("plugin") else name


def _of_transformers(reference: str, config: Mapping[str, Any]) -> str:
    """Say by which name a model is made that takes its weights; nothing where it is no such model.

    Args:
        reference: where it is.
        config: what its `config.json` says.
    """
    family = config.get("model_type")
    if not isinstance(family, str):
        return ""
    description = f": it holds a {family!r} of Hugging Face transformers"
    sizes = {KEYWORD_ALIASES.get(key, key): value for key, value in config.items() if value is not None}
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
        return f"{description}, and no model here is of that family"
    same = (name for name, differ in others.items() if not any(key in differ for key in _OWN))
    name = next(same, next(iter(others)))
    keywords = "".join(f", {key}={value!r}" for key, value in others[name].items())
    prefix, place = split_prefix(reference)
    weights = place if prefix == "local-dir" else reference
    return f"{description}, whose weights a name takes: zoo.create('{name}', weights={weights!r}{keywords})"
