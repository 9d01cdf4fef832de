"""Freezing of parts of a joined model: `encoder`, `decoder`, or patterns of parameters' names."""

from fnmatch import fnmatchcase
from typing import Any

from zoo import ConfigError

ENCODER = "stem.model."
"""How the encoder's parameters begin."""


def freeze_parts(model: Any, text: str) -> None:
    """Let the named parameters stay as they are in a training; what is new in the decoder is none of `decoder`.

    Args:
        model: joined.
        text: `encoder`, `decoder` or patterns, with a comma between.

    Raises:
        ConfigError: If nothing is meant by one of them, or nothing would be left to train.
    """
    parameters = dict(model.named_parameters())
    new = tuple(f"{name}." for name in model.new_parts)
    parts = {
        "encoder": [name for name in parameters if name.startswith(ENCODER)],
        "decoder": [name for name in parameters if not name.startswith((ENCODER, *new))],
    }
    for wanted in filter(None, (part.strip() for part in text.split(","))):
        found = parts.get(wanted) or [name for name in parameters if fnmatchcase(name, wanted)]
        if not found:
            some = ", ".join(list(parameters)[:3])
            raise ConfigError(
                f"freeze={text!r}: no parameter is called {wanted!r}; write encoder, decoder, or a pattern of names "
                f"such as {some}"
            )
        for name in found:
            parameters[name].requires_grad_(False)
    if not any(parameter.requires_grad for parameter in parameters.values()):
        raise ConfigError(f"freeze={text!r} leaves nothing to train: bridge='linear', for one, has new weights")
    model.train(model.training)  # a frozen encoder stays in evaluation mode
