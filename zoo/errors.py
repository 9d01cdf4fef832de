"""The errors of the zoo, below `ZooError` of `zoo.core.errors`.

ZooError
├── ConfigError (ValueError)
│   ├── InputError
│   ├── KeywordError                                a keyword that a model does not have
│   └── FolderInUseError                            another process works in the run folder
├── UnknownModelError (RuntimeError, LookupError)   no model of that name; near names and failed plugins
│   ├── AmbiguousNameError                          two plugins offer it
│   └── UnknownSourceError (ValueError)             a path, or a prefix that is no plugin
├── PluginError (RuntimeError)                      a plugin that does not load, or breaks a rule
├── MissingLibraryError (ImportError)               an optional library is not installed, or is broken
├── WeightsError (RuntimeError)                     a checkpoint that cannot be read or does not fit
├── ExportError (RuntimeError)                      a model, or a part of it, that cannot be exported
└── DataError (ValueError)                          a data source that cannot be used
"""

from zoo.core.errors import ConfigError, InputError, ZooError

__all__ = [
    "AmbiguousNameError",
    "ConfigError",
    "DataError",
    "ExportError",
    "FolderInUseError",
    "InputError",
    "KeywordError",
    "MissingLibraryError",
    "PluginError",
    "UnknownModelError",
    "UnknownSourceError",
    "WeightsError",
    "ZooError",
]


class KeywordError(ConfigError):
    """Report a keyword that a model does not have.

    Args:
        text: what is told.
        keyword: the word.
    """

    def __init__(self, text: str, keyword: str = "") -> None:
        super().__init__(text)
        self.keyword = keyword


class FolderInUseError(ConfigError):
    """Report a run folder in which another process works: which, on which host, since when."""


class UnknownModelError(ZooError, RuntimeError, LookupError):
    """Report a name no plugin knows, with the nearest ones; timm's users catch it as RuntimeError."""


class AmbiguousNameError(UnknownModelError):
    """Report a short name that two plugins offer; `plugin:name` tells them apart."""


class UnknownSourceError(UnknownModelError, ValueError):
    """Report a path or a prefix that is no plugin where a model name should be."""


class PluginError(ZooError, RuntimeError):
    """Report a plugin that does not load or breaks a rule of the contract."""


class MissingLibraryError(ZooError, ImportError):
    """Report an optional library that is not installed, or is there but does not import."""


class WeightsError(ZooError, RuntimeError):
    """Report a checkpoint that cannot be read or does not fit the model."""


class ExportError(ZooError, RuntimeError):
    """Report a model, or a part of it, that cannot be exported, or whose export does not give the same answers."""


class DataError(ZooError, ValueError):
    """Report a data source that cannot be used."""
