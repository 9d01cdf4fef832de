"""Check the keywords of `generate`: an unknown one is an error that names the nearest."""

import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from zoo.core.errors import ConfigError

ALIASES = {
    "do_sample": "temperature",
    "max_length": "max_len",
    "max_new_tokens": "max_len",
    "num_beams": "beam",
    "num_return_sequences": "n_best",
}
"""Keywords of `generate` in Hugging Face transformers, and ours."""


def check_keywords(others: Mapping[str, Any], function: Callable[..., Any]) -> None:
    """Refuse keywords that a function does not have.

    Args:
        others: what it was given besides its own.
        function: whose keywords are known.

    Raises:
        ConfigError: If there is one; the text names the nearest that there is.
    """
    for word, value in others.items():
        known = [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
        ours = ALIASES.get(word, "")
        near = ours if ours in known else next(iter(get_close_matches(word, known, cutoff=0.75)), "")
        hint = f" Did you mean '{near}'?" if near else ""
        raise ConfigError(
            f"{word}={value!r} given to {function.__name__}, which does not take it.{hint} It takes {', '.join(known)}"
        )
