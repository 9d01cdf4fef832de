"""The model that a repository's `config.json` describes.

Of a folder of Hugging Face transformers, the error names the model here that takes its weights.
"""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from zoo.errors import ConfigError, UnknownModelError, WeightsError, ZooError
from zoo.factory import keywords
from zoo.factory.keyword_aliases import KEYWORD_ALIASES
from zoo.names import listed, split_prefix
from zoo.registry import entry_loading
from zoo.registry.lookup import registry
from zoo.spec import ModelSpec
from zoo.version import __version__
from zoo.weights import hub

_OWN = ("dim", "depth", "num_heads", "mlp_dim", "patch_size")
"""Sizes that a name stands for; the others are often changed."""
_SIZES = (*_OWN, "vocab_size", "max_len", "image_size")


_KEYS = (
    "architecture", "num_classes", "num_features", "model_args", "pretrained_cfg", "modality", "zoo_version", "plugin",
    "quantization", "global_pool", "label_names", "label_descriptions",
)  # fmt: skip
"""What `zoo.weights.save` and timm write."""


def spec_of(reference: str) -> ModelSpec:
    """Read what a repository's `config.json` says was built.

    Raises:
        WeightsError: If there is no such file, it names no architecture, or a task that the model does not have.
        UnknownModelError: If no plugin has the architecture.
    """
    config = hub.read_config(reference)
    if not isinstance(config.get("architecture"), str):
        if spec := _configured(reference, config.get("model_type")):
            return spec
        raise WeightsError(
            f"{reference!r} has no config.json that names an architecture{_of_transformers(reference, config)}"
        )
    settings = _settings(config)
    try:
        spec, _ = registry().find(_architecture(config))
    except UnknownModelError as error:
        error.args = (f"{error}\nIt is the architecture in the config.json of {reference!r}{hub.versions(config)}.",)
        raise
    task = settings.get("task", spec.task)
    if task not in spec.tasks:
        raise WeightsError(
            f"{reference!r}: config.json has task={task!r}, and the tasks of '{spec.name}' are {listed(spec.tasks)}"
            f"{hub.versions(config)}"
        )
    return replace(spec.with_config(**settings), task=task, weights={"hub": reference})


@contextmanager
def checked(reference: str, spec: ModelSpec, entry: Callable[..., Any], given: Mapping[str, Any]) -> Iterator[None]:
    """Check the `config.json` of a repository, and name it in the errors of a model that is made of it.

    Args:
        reference: where it is.
        spec: what `spec_of` read.
        entry: what builds the model.
        given: keywords of the caller.

    Raises:
        WeightsError: If a keyword or value is none of the model's; the text names it, the file and both versions.
    """
    config = hub.read_config(reference)
    _warn(reference, config)
    told = f"of config.json in {reference!r}{hub.versions(config)}"
    try:
        keywords.check(spec, entry, _settings(config))
    except ConfigError as error:
        advice = "take it out, or use the version that wrote it" if hub.is_other_version(config) else "take it out"
        raise WeightsError(f"{error}\nIt is a keyword {told}: {advice}.") from error
    try:
        yield
    except ConfigError as error:
        if given:  # perhaps at fault
            raise
        raise WeightsError(f"{error}\nIt is made {told}.") from error
    except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError) as error:
        if isinstance(error, ZooError):
            raise
        values = {**_settings(config), **given}
        raise WeightsError(
            f"Model '{spec.name}' cannot be made {told}, with {values}: {type(error).__name__}: {error}"
        ) from error


@contextmanager
def advised(reference: str | None, spec: ModelSpec, given: Mapping[str, Any]) -> Iterator[None]:
    """Add to the error of weights that do not fit by what call they do, as the `config.json` beside them tells.

    Args:
        reference: of the folder or repository of the weights, if they are of one.
        spec: of the model.
        given: keywords of the caller.
    """
    try:
        yield
    except WeightsError as error:
        config = hub.read_config(reference) if reference else {}
        if isinstance(config.get("architecture"), str):
            advice = f"zoo.create({reference!r}) makes the model that is saved there"
        else:
            known = {**spec.config, **given}
            same = spec.name.startswith(f"{config.get('model_type')}-")
            same = same and all(known.get(key, size) == size for key, size in _sizes(config).items())
            told = "" if same or not reference else _of_transformers(reference, config)
            advice = f"{reference!r}{told}" if told else ""
        if advice:
            error.args = (f"{error}\n{advice}",)
        raise


def _warn(reference: str, config: Mapping[str, Any]) -> None:
    """Tell of keys that are not read, and of a newer version."""
    wrote = config.get("zoo_version")
    if not wrote:
        return  # by timm
    unknown = [key for key in config if key not in _KEYS]
    if unknown:
        text = f"config.json has {', '.join(map(repr, unknown))}, which is not read"
    elif _numbers(wrote) > _numbers(__version__):
        text = "config.json is of a newer version: what that added is not read"
    else:
        return
    warnings.warn(f"{reference!r}: {text}{hub.versions(config)}", stacklevel=5)  # where zoo.create is called


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Give the keywords that a `config.json` has for the model."""
    settings = dict(config.get("model_args") or {})
    if config.get("num_classes") is not None:
        settings["num_classes"] = config["num_classes"]
    return settings


def _architecture(config: dict[str, Any]) -> str:
    """Give the name that the registry finds; a `config.json` without `zoo_version` was written by timm."""
    name = config["architecture"]
    if "zoo_version" not in config:
        return f"timm:{name}"
    return f"{config['plugin']}:{name}" if config.get("plugin") else name


def _configured(reference: str, family: Any) -> ModelSpec | None:
    """Describe the model that a repository of Hugging Face transformers holds, where a plugin reads its configuration.

    Of several sizes of a family the name is that of the same ones, else the first.
    """
    found = []
    for spec in registry().models:
        if spec.configure and family in spec.model_types:
            told = entry_loading.load(spec, spec.configure)({}, reference, spec, {})
            made = replace(spec.with_config(**told), task=told.get("task", spec.task), weights={"hub": reference})
            if all(made.config[key] == spec.config[key] for key in _OWN if key in spec.config):
                return made
            found.append(made)
    return found[0] if found else None


def _sizes(config: Mapping[str, Any]) -> dict[str, Any]:
    """Give the sizes in a `config.json` of Hugging Face transformers by our keywords."""
    sizes = {KEYWORD_ALIASES.get(key, key): value for key, value in config.items() if value is not None}
    if isinstance(sizes.get("dim"), int):
        sizes.setdefault("mlp_dim", 4 * sizes["dim"])  # as GPT-2's, where it says nothing
    return {key: sizes[key] for key in _SIZES if key in sizes}


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
    sizes = _sizes(config)
    models = [spec for spec in registry().models if spec.convert and spec.name.startswith(f"{family}-")]
    if not models:
        return f"{description}, and no model here is of that family"

    def differing(spec: ModelSpec) -> dict[str, Any]:
        return {key: size for key, size in sizes.items() if size != spec.config.get(key, size)}

    # the nearest in the sizes that a name stands for; of equally near ones the smallest
    near = min(models, key=lambda spec: (len(differing(spec).keys() & set(_OWN)), spec.parameters or 0))
    keywords = "".join(f", {key}={value!r}" for key, value in differing(near).items())
    prefix, place = split_prefix(reference)
    weights = place if prefix == "local-dir" else reference
    return f"{description}, whose weights a name takes: zoo.create('{near.name}', weights={weights!r}{keywords})"
