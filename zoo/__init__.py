"""A model zoo of many modalities on one attention engine.

    import zoo
    model = zoo.create("vit-small")
    logits = model(*zoo.example("vit-small"))

Nothing heavy is imported here: each name below, and each of the packages, is fetched at first use.
"""

from typing import TYPE_CHECKING

from zoo.core.lazy_exports import exports
from zoo.version import __version__ as __version__

if TYPE_CHECKING:
    from zoo.errors import (
        AmbiguousNameError,
        ConfigError,
        DataError,
        InputError,
        MissingLibraryError,
        PluginError,
        UnknownModelError,
        UnknownSourceError,
        WeightsError,
        ZooError,
    )
    from zoo.factory.create import create, create_model, example, info, list_models, plugins, postprocess, preprocess
    from zoo.hookspecs import ZOO_PLUGIN_API, hookimpl
    from zoo.registry.lookup import Registry
    from zoo.spec import AttentionSpec, ModelSpec, PluginInfo, Requirement, SourceSpec, StudySpec, SuiteSpec
    from zoo.training.api import train

__all__ = [
    "ZOO_PLUGIN_API",
    "AmbiguousNameError",
    "AttentionSpec",
    "ConfigError",
    "DataError",
    "InputError",
    "MissingLibraryError",
    "ModelSpec",
    "PluginError",
    "PluginInfo",
    "Registry",
    "Requirement",
    "SourceSpec",
    "StudySpec",
    "SuiteSpec",
    "UnknownModelError",
    "UnknownSourceError",
    "WeightsError",
    "ZooError",
    "create",
    "create_model",
    "example",
    "hookimpl",
    "info",
    "list_models",
    "plugins",
    "postprocess",
    "preprocess",
    "train",
]

_FROM = {
    "zoo.factory.create": (
        "create",
        "create_model",
        "example",
        "info",
        "list_models",
        "plugins",
        "postprocess",
        "preprocess",
    ),
    "zoo.hookspecs": ("ZOO_PLUGIN_API", "hookimpl"),
    "zoo.registry.lookup": ("Registry",),
    "zoo.training.api": ("train",),
    "zoo.spec": ("AttentionSpec", "ModelSpec", "PluginInfo", "Requirement", "SourceSpec", "StudySpec", "SuiteSpec"),
    "zoo.errors": tuple(name for name in __all__ if name.endswith("Error")),
}
_PACKAGES = dict.fromkeys(("bench", "core", "testing", "training", "weights"), __name__)
__getattr__, __dir__ = exports(__name__, _PACKAGES | {name: where for where, names in _FROM.items() for name in names})
