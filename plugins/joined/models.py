"""Joined models: the encoder of one model before the decoder of another, each made by its own name."""

import inspect
import warnings
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, NamedTuple

import torch

from zoo import ConfigError, ModelSpec, create, info
from zoo.core import SYMBOLS, Composition, Source, bridge_of
from zoo.core import freeze as freeze_parts
from zoo.registry import load

DECODER, ENCODER = "decoder.", "encoder."
"""How keywords begin that are meant for one of the two."""


class Part(NamedTuple):
    """One of the two models, before it is made.

    Args:
        name: of the model.
        given: its keywords.
        weights: True for the published ones, None for none, or as `weights=` of `zoo.create`.
    """

    name: str
    given: dict[str, Any]
    weights: Any = None

    def make(self, task: str) -> Any:
        """Make the model, for a task."""
        weights = None if self.weights is True else self.weights
        return create(self.name, self.weights is True or None, weights=weights, task=task, **self.given)


def joined(
    *,
    encoder: str,
    decoder: str,
    bridge: str = "linear",
    freeze: str = "",
    decoder_config: Mapping[str, Any] | None = None,
    vocab_size: int | None = None,
    source_vocab_size: int | None = None,
    source_tokenizer: str = "",
    pretrained: bool | None = None,
    encoder_weights: Any = None,
    decoder_weights: Any = None,
    **others: Any,
) -> Composition:
    """Put any encoder before any decoder, each with weights of its own.

    Missing cross-attention is inserted in each block behind the self-attention, with a gate of zero (arXiv:2204.14198),
    so that the decoder is unchanged at first. The encoder's vectors pass a bridge to the decoder's channels.

    Args:
        encoder: name of a model with the task `features`.
        decoder: name of a model with the task `generate`, or of a Transformer with the task `masked-token`.
        bridge: `linear`; `pool:N`, the means of N stretches of vectors through a linear layer; or `none`.
        freeze: `encoder`, `decoder` (all of it that is not new), or a pattern of parameters' names, such as
            `decoder.blocks.[0-3].*`; several with a comma between.
        decoder_config: keywords of the decoder.
        vocab_size: of the decoder; of an encoder of text too, where both read by one tokenizer.
        source_vocab_size: of an encoder of text that has a tokenizer of its own.
        source_tokenizer: what corpora of texts read the source by, as `tokenizer` of a training: `char`, `bpe:1000`, a
            file, or a repository; by default that of an encoder which is a repository, else the decoder's.
        pretrained: load the published weights of both.
        encoder_weights: of the encoder: True for the published ones, or as `weights=` of `zoo.create`.
        decoder_weights: of the decoder, the same.
        others: keywords of the encoder, as they are or behind `encoder.`; of the decoder behind `decoder.`.

    Raises:
        ConfigError: If the two cannot be joined.
    """
    first, second = divided(info(encoder), info(decoder), others, decoder_config or {})
    if vocab_size is not None and "vocab_size" in info(decoder).config:
        second.setdefault("vocab_size", vocab_size)
    if info(encoder).modality == "text":
        size = source_vocab_size or (None if encoder_weights or pretrained else vocab_size)
        first = ({} if size is None else {"vocab_size": size}) | first
    writes = "generate" if "generate" in info(decoder).tasks else "masked-token"
    target = Part(decoder, second, decoder_weights or pretrained).make(writes)
    source = Part(encoder, first, encoder_weights or pretrained).make("features")
    specs = source.spec, target.spec
    made = bridge_of(bridge, source.num_features, target.num_features)
    check_count(source, made.pool)
    model: Any = target.behind(Source(source, made))
    model.new_parts = ("stem.bridge", *model.new_parts)
    model.joined_specs = specs
    if decoder_weights or encoder_weights or pretrained:
        tell_new(model, decoder)
    if freeze:
        freeze_parts(model, freeze)
        model.train(model.training)  # a frozen encoder stays in evaluation mode
    return model


def divided(
    encoder: ModelSpec, decoder: ModelSpec, others: Mapping[str, Any], decoder_config: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tell the keywords of the encoder from those of the decoder.

    One without `encoder.` or `decoder.` in front is the encoder's, unless only the decoder has it.

    Raises:
        ConfigError: If the encoder is to give one vector, the decoder to have labels, or it cannot be told the symbols.
    """
    first, second = {}, dict(decoder_config)
    for key, value in others.items():
        if key.startswith(DECODER):
            second[key.removeprefix(DECODER)] = value
        elif key == "symbols" or (key in decoder.config and key not in encoder.config):
            second.setdefault(key, value)
        else:
            first[key.removeprefix(ENCODER)] = value
    task = first.pop("task", "features")
    if task not in ("features", "generate"):
        raise ConfigError(
            f"task={task!r} of the encoder '{encoder.name}' gives one answer for each input, which a decoder cannot "
            "attend to: leave it out; task='features', which joining takes, gives many vectors"
        )
    second.pop("task", None)
    if second.get("num_classes") is not None and "generate" not in decoder.tasks:
        raise ConfigError(
            f"num_classes={second['num_classes']} of the decoder '{decoder.name}', which writes tokens here and has no "
            "labels: leave it out"
        )
    first, second = ({key: value for key, value in given.items() if value is not None} for given in (first, second))
    return first, with_symbols(decoder, second)


def with_symbols(decoder: ModelSpec, given: dict[str, Any]) -> dict[str, Any]:
    """Leave out the usual symbols where the decoder has these and takes no others.

    Raises:
        ConfigError: If it takes no others and is given others.
    """
    if "symbols" not in given or "symbols" in inspect.signature(load(decoder)).parameters:
        return given
    if tuple(given["symbols"]) != tuple(SYMBOLS):
        raise ConfigError(
            f"symbols={list(given['symbols'])} for the decoder '{decoder.name}', whose padding, begin and end are "
            f"{', '.join(map(str, SYMBOLS))}: take a tokenizer with these, as tokenizer='char', 'byte' or 'bpe:1000'"
        )
    return {key: value for key, value in given.items() if key != "symbols"}


def check_count(encoder: Any, pool: int | None) -> None:
    """Check that an encoder gives as many vectors as are pooled, where it always gives the same number.

    That is so of one whose inputs have no lengths; the others are checked row by row when they are read.

    Raises:
        ConfigError: If it gives fewer.
    """
    spec: ModelSpec = encoder.spec
    inputs = load(spec, spec.example)({**spec.config, "task": "features"}, 1, 0)
    if pool is None or len(inputs) != 1 or not isinstance(inputs[0], torch.Tensor):
        return
    with torch.no_grad():
        tokens = deepcopy(encoder).to("meta").eval().encode(inputs[0].to("meta"))
    if tokens.x.shape[1] < pool:
        raise ConfigError(
            f"bridge='pool:{pool}' pools to more vectors than '{spec.name}' gives, {tokens.x.shape[1]} for each input: "
            f"write pool:{tokens.x.shape[1]} or less, or bridge='linear'"
        )


def tell_new(model: Composition, decoder: str) -> None:
    """Warn of the parts that no weights hold."""
    warnings.warn(
        f"{', '.join(model.new_parts)} are new, and have to be trained: neither the encoder's weights nor those of "
        f"'{decoder}' have them",
        stacklevel=5,  # where zoo.create is called
    )
