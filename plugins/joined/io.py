"""Inputs and answers of joined models: each part reads, and is read, as it is alone."""

from collections.abc import Mapping
from typing import Any

from zoo import ModelSpec, info
from zoo.core import SYMBOLS
from zoo.registry import load
from zoo.weights import fetch, is_repository

PLACES = ("tag", "repository", "default")
"""Keys that say where weights are."""


def example(config: Mapping[str, Any], batch_size: int, seed: int) -> tuple[Any, ...]:
    """Make inputs: those of the encoder, then what the decoder has written so far."""
    encoder, decoder = info(config["encoder"]), info(config["decoder"])
    source = load(encoder, encoder.example)(source_config(config), batch_size, seed)
    written = load(decoder, decoder.example)(target_config(config), batch_size, seed)
    if decoder.reads not in ("prompt", "encoder"):
        return *source, written[-1]
    ids = written[0][:, : max(2, written[0].shape[1] // 2)].clone()
    ids[:, 0] = (target_config(config).get("symbols") or SYMBOLS)[1]
    return *source, ids


def preprocess(config: Mapping[str, Any], train: bool) -> Any:
    """Make what turns raw inputs into those of the encoder.

    A run folder has the tokenizer of both, or one of each; else the encoder's own weights bring what it reads by.
    """
    encoder = info(config["encoder"])
    assert encoder.preprocess is not None
    places = _reading_place(config, encoder) or _default(encoder)
    return load(encoder, encoder.preprocess)({**source_config(config), **places}, train)


def postprocess(config: Mapping[str, Any]) -> Any:
    """Make what turns a joined model's answer into what its decoder writes."""
    decoder = info(config["decoder"])
    assert decoder.postprocess is not None
    places = {key: config[key] for key in PLACES if key in config}
    return load(decoder, decoder.postprocess)({**target_config(config), **places})


def source_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Give the configuration of the encoder."""
    own = info(config["encoder"]).config
    found = {**own, **{key: value for key, value in config.items() if key not in PLACES}, "task": "features"}
    size = config.get("source_vocab_size") or config.get("vocab_size")
    return found | ({"vocab_size": size} if "vocab_size" in own else {})


def target_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Give the configuration of the decoder."""
    own = {key: value for key, value in info(config["decoder"]).config.items() if key != "num_classes"}
    given = {key: config[key] for key in ("vocab_size", "symbols") if config.get(key) is not None}
    return {**own, **(config.get("decoder_config") or {}), **given, "task": "generate"}


def _reading_place(config: Mapping[str, Any], encoder: ModelSpec) -> dict[str, str]:
    """Say where that is which the encoder reads by: in the whole's folder or repository, or in one of its own."""
    where, named = config.get("repository"), str(config.get("source_tokenizer") or "")
    if where is not None and encoder.modality == "text":
        own = fetch(where, ("source/tokenizer.json",))
        if own is not None:
            return {"repository": f"local-dir:{own.parent}"}
    if is_repository(named):
        return {"repository": named}
    of_decoder = where is not None and where == info(config["decoder"]).weights.get("hub")
    return {} if where is None or of_decoder else {"repository": where}


def _default(spec: ModelSpec) -> dict[str, str]:
    return {"default": next(iter(spec.weights.values()))} if spec.weights else {}
