"""Check the keywords of `generate`: an unknown one is an error that names the nearest."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from zoo.core.errors import ConfigError, InputError

ALIASES = {
    "do_sample": "temperature",
    "max_length": "max_len",
    "max_new_tokens": "max_len",
    "num_beams": "beam",
    "num_return_sequences": "n_best",
}
"""Keywords of `generate` in Hugging Face transformers, and ours."""

_CONSTRAINTS = {
    "logits_processor": "processors",
    "min_length": "min_len",
    "min_new_tokens": "min_len",
    "stop_strings": "stop",
    "stopping_criteria": "stop",
}
"""More of them, which no configuration of a model has."""
_PLACES = {
    "attention_mask": 1,
    "decoder_input_ids": -1,
    "input_features": 0,
    "input_ids": 0,
    "input_values": 0,
    "pixel_values": 0,
}
"""Inputs of models in Hugging Face transformers, and the place of ours."""


def check_input_keywords(others: Mapping[str, Any], inputs: Sequence[str]) -> None:
    """Refuse keywords of a model's `forward`, which takes its inputs by position.

    Args:
        others: the keywords it was given.
        inputs: names of its inputs, in their order.

    Raises:
        InputError: If there is a keyword; the text names the inputs, and which of them is meant.
    """
    for word in others:
        at = _PLACES.get(word, len(inputs))
        near = inputs[at : at + 1 or None] or get_close_matches(word, inputs, n=1, cutoff=0.6)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise InputError(
            f"{word}= given to a model, which takes its inputs by position: model({', '.join(inputs)}).{hint}"
        )


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
        ours = (ALIASES | _CONSTRAINTS).get(word, "")
        near = ours if ours in known else next(iter(get_close_matches(word, known, cutoff=0.75)), "")
        hint = f" Did you mean '{near}'?" if near else ""
        raise ConfigError(
            f"{word}={value!r} given to {function.__name__}, which does not take it.{hint} It takes {', '.join(known)}"
        )
