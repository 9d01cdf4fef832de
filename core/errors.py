"""The exceptions of `zoo.core`; every other exception of `zoo` is a subclass of these.

ZooError
├── ConfigError (ValueError)        a value the caller gave does not fit
│   └── InputError                  ... a tensor given to a model does not fit
└── see zoo.errors                  names, plugins, weights, data
"""


class ZooError(Exception):
    """Catch everything that `zoo` raises on purpose."""


class ConfigError(ZooError, ValueError):
    """Report a keyword, size or option that does not fit; the text repeats the value and names the rule."""


class InputError(ConfigError):
    """Report a tensor whose rank, size, dtype or values a model cannot read."""
