"""Special tokens of a repository: ids of padding, begin, end, unknown and mask, as its files tell.

A configuration has ids, `eos_token_id`; the files beside a tokenizer have the tokens themselves, `"eos_token": "</s>"`.
"""

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from zoo.spec import ModelSpec
from zoo.weights import hub

BYTES = 260
"""Tokens of the vocabulary of bytes: padding, begin, end, unknown and 256 bytes."""
_IDS = {
    "pad": "pad_token_id",
    "bos": "bos_token_id",
    "eos": "eos_token_id",
    "start": "decoder_start_token_id",
}
_TOKENS = {
    "pad": ("pad_token",),
    "bos": ("bos_token", "cls_token"),
    "eos": ("eos_token", "sep_token"),
    "unk": ("unk_token",),
    "mask": ("mask_token",),
}


def model_symbols(reference: str, vocab_size: int | None) -> list[int] | None:
    """Give what a model takes as `symbols`: padding, begin and end; None where the end is not told.

    The configuration goes before the tokenizer. Without padding it is the end, as in GPT-2; an encoder-decoder begins
    with `decoder_start_token_id`. A `config.json` of our own has them as they are, or means the model's usual ones.

    Args:
        reference: of the repository.
        vocab_size: of the model; ids outside it are not used, with a warning where nothing else tells the end.
    """
    config = hub.read_config(reference)
    if config.get("zoo_version"):
        return (config.get("model_args") or {}).get("symbols")
    told = _configured(reference)
    fits = {name: token for name, token in told.items() if vocab_size is None or 0 <= token < vocab_size}
    found = _tokenizer(reference) | fits
    if "eos" not in found:
        if "eos" in told:
            warnings.warn(
                f"{reference!r}: eos_token_id={told['eos']} is outside vocab_size={vocab_size} and is not used: pass "
                "symbols=[padding, begin, end]",
                stacklevel=4,  # where zoo.create is called
            )
        return None
    pad = found.get("pad", found["eos"])
    return [pad, found.get("start", found.get("bos", pad)), found["eos"]]


def special_tokens(reference: str) -> dict[str, int]:
    """Give what the files of a repository tell of its tokenizer, under `pad`, `bos`, `eos`, `unk` and `mask`.

    The tokenizer's files go before the configuration.
    """
    symbols = (hub.read_config(reference).get("model_args") or {}).get("symbols")
    own = dict(zip(("pad", "bos", "eos"), symbols, strict=False)) if isinstance(symbols, list) else {}
    found = own | _configured(reference) | _tokenizer(reference)
    return {name: found[name] for name in _TOKENS if name in found}


def fetch_tokenizer(reference: str) -> Path | None:
    """Get a repository's `tokenizer.json`, or None, with the files beside it that tell its special tokens."""
    special_tokens(reference)
    return hub.fetch(reference, ("tokenizer.json",))


def has_bytes(reference: str, vocab_size: int | None = None) -> bool:
    """Tell whether a folder of ours is of a model whose tokens are bytes: they need no `tokenizer.json`.

    Args:
        reference: of the folder or repository.
        vocab_size: of the model; by default what its `config.json` says.
    """
    config = hub.read_config(reference)
    told = config.get("model_args") or {}
    size = told.get("vocab_size") if vocab_size is None else vocab_size
    return bool(config.get("zoo_version")) and size == BYTES and told.get("symbols") in (None, [0, 1, 2])


def tokenizer_name(reference: str, spec: ModelSpec) -> str:
    """Say which tokenizer comes with weights, as `open_corpus` takes it: its path, `byte`, or nothing."""
    found = fetch_tokenizer(reference)
    if found is None and spec.reads in ("encoder", "source", "prompt") and has_bytes(reference):
        return "byte"
    return str(found or "")


def _configured(reference: str) -> dict[str, int]:
    """Read the ids of `generation_config.json`, else of `config.json`; of several ends the first."""
    configs = [hub.read_json(reference, name) for name in ("config.json", "generation_config.json")]
    found: dict[str, int] = {}
    for config in configs:
        for name, key in _IDS.items():
            value = config.get(key)
            token = value[0] if isinstance(value, list) and value else value
            if isinstance(token, int) and not isinstance(token, bool):
                found[name] = token
    return found


def _tokenizer(reference: str) -> dict[str, int]:
    """Read the tokens that the files beside a `tokenizer.json` name, and find their ids in it."""
    beside = hub.read_json(reference, "special_tokens_map.json") | hub.read_json(reference, "tokenizer_config.json")
    texts = {
        name: text
        for name, keys in _TOKENS.items()
        for text in (_text(beside.get(key)) for key in reversed(keys))
        if text is not None
    }
    if not texts:
        return {}
    places = dict(_places(hub.read_json(reference, "tokenizer.json"), beside.get("added_tokens_decoder") or {}))
    return {name: places[text] for name, text in texts.items() if text in places}


def _text(token: Any) -> str | None:
    text = token.get("content") if isinstance(token, Mapping) else token
    return text if isinstance(text, str) else None


def _places(tokenizer: Mapping[str, Any], added: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the tokens of a vocabulary with their ids; those that were added last."""
    vocabulary = (tokenizer.get("model") or {}).get("vocab") or {}
    if isinstance(vocabulary, Mapping):
        yield from vocabulary.items()
    else:  # of unigrams: pairs of token and score
        yield from ((pair[0], place) for place, pair in enumerate(vocabulary))
    yield from ((token["content"], token["id"]) for token in tokenizer.get("added_tokens") or ())
    yield from ((token["content"], int(place)) for place, token in added.items())
