"""The record of a joined model, made of those of its encoder and decoder; what cannot be joined is refused here."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from zoo import ConfigError, ModelSpec, Reads, UnknownModelError, info, list_models
from zoo.weights import is_repository

PREFIX = "joined:"
SHOWN = 4
"""Names in the text of an error."""
OWN = ("num_classes", "by", "labels", "blank", "ctc_weight", "decoder_depth", "target", "task")
"""Keywords of heads and of other decoders, of which a joined model has none."""
SHAPES = ("reduction", "bands", "max_steps")
"""Keywords of a decoder that writes frames, which data of sounds read."""


def joined_spec(encoder: str, decoder: str) -> ModelSpec:
    """Describe an encoder with a decoder behind it.

    The encoder's keywords stand in the configuration as they are, the decoder's in `decoder_config`; `vocab_size` and
    `symbols` are the decoder's, whose tokenizer is the one that writes.

    Raises:
        UnknownModelError: If there is no such model.
        ConfigError: If there are more than two, the encoder gives no vectors, or the decoder writes nothing.
    """
    name = f"{PREFIX}{encoder}+{decoder}" if decoder else f"{PREFIX}{encoder}"
    if "+" in decoder and not (decoder.startswith(PREFIX) or is_repository(decoder)):
        raise ConfigError(f"'{name}' joins {name.count('+') + 1} models: a join takes two, joined:ENCODER+DECODER")
    source, target = _found(encoder, "encoder", name), _found(decoder, "decoder", name)
    check_encoder(source, name)
    check_decoder(target, name)
    config = {key: value for key, value in source.config.items() if key not in OWN}
    written = {key: target.config[key] for key in SHAPES if key in target.config and key not in config}
    if "vocab_size" in target.config:
        if source.modality == "text" and config.get("vocab_size") != target.config["vocab_size"]:
            written["source_vocab_size"] = config.get("vocab_size")
        config["vocab_size"] = target.config["vocab_size"]
        written["symbols"] = target.config.get("symbols")
    if source.modality == "text" and is_repository(encoder):
        written["source_tokenizer"] = encoder
    named = {"encoder": encoder, "decoder": decoder, "bridge": "linear", "freeze": "", "decoder_config": {}}
    return ModelSpec(
        name=name,
        entry="zoo.plugins.joined.models:joined",
        modality=written_modality(source, target),
        config=config | written | named,
        example="zoo.plugins.joined.io:example",
        preprocess="zoo.plugins.joined.io:preprocess" if source.preprocess else None,
        reads=reads_of(source),
        postprocess="zoo.plugins.joined.io:postprocess" if target.postprocess else None,
        convert="zoo.plugins.joined.convert:to_zoo",
        task="generate",
        tasks=("generate",),
        kind=source.kind if source.kind == target.kind else "hybrid",
        weights=target.weights,
        requires=tuple(dict.fromkeys((*source.requires, *target.requires))),
        source=" + ".join(dict.fromkeys(part for part in (source.source, target.source) if part)),
        description=f"The decoder of {target.name} reads the vectors of {source.name}.",
    )


def check_given(spec: ModelSpec, given: Collection[str]) -> None:
    """Check that keywords of a caller are for parts that a joined model has.

    Raises:
        ConfigError: If one is for a head of the encoder, which would have no effect; the text lists what there is.
    """
    for keyword in given:
        if keyword.removeprefix("encoder.") in OWN and keyword.rpartition(".")[2] != "task":
            raise ConfigError(
                f"Model '{spec.name}' has no keyword '{keyword}': its encoder has no head, and the decoder writes. It "
                f"takes {', '.join(sorted(spec.config))}, and the decoder's own behind 'decoder.'"
            )


def check_encoder(spec: ModelSpec, name: str) -> None:
    """Check that a model can give many vectors for an input.

    Raises:
        ConfigError: If it cannot; the text names some of its modality that can.
    """
    if "features" in spec.tasks:
        return
    like = [each for each in list_models(modality=spec.modality) if "features" in info(each).tasks] or [
        each for each in list_models() if "features" in info(each).tasks
    ]
    raise ConfigError(
        f"'{name}': '{spec.name}' as the encoder gives no vectors to read, as its tasks are "
        f"{', '.join(spec.tasks)}; models with the task 'features' give many, such as {', '.join(like[:SHOWN])}"
    )


def check_decoder(spec: ModelSpec, name: str) -> None:
    """Check that a model writes.

    Raises:
        ConfigError: If it does not; the text names some that do.
    """
    if "generate" in spec.tasks or ("masked-token" in spec.tasks and spec.kind == "attention"):
        return
    raise ConfigError(
        f"'{name}': '{spec.name}' as the decoder writes nothing, as its tasks are {', '.join(spec.tasks)}; models with "
        f"the task 'generate' write, such as decoder-tiny, gpt2-small, transformer-tiny, rnn-attention-tiny, nat-base, "
        "and Transformers with the task 'masked-token', such as bert-tiny, which then read what comes before only"
    )


def written_modality(encoder: ModelSpec, decoder: ModelSpec) -> str:
    """Give the modality by which data are found: the encoder's, or of a text the one that the decoder makes of it."""
    return decoder.modality if encoder.modality == "text" and decoder.reads == "source" else encoder.modality


def reads_of(encoder: ModelSpec) -> Reads:
    """Say what an input is to the joined model: a text is a source."""
    return "source" if encoder.reads == "encoder" else encoder.reads


def settled(spec: ModelSpec, encoder: ModelSpec, decoder: ModelSpec) -> ModelSpec:
    """Give the record of a joined model that was made, so that it can be made again from it alone.

    Args:
        spec: as it was resolved, with the keywords of the caller.
        encoder: of the part that was made.
        decoder: of the part that was made.
    """
    pairs = (("encoder", encoder), ("decoder", decoder))
    names = {part: made.full_name if is_repository(spec.config[part]) else spec.config[part] for part, made in pairs}
    kept = {key: spec.config[key] for key in ("attention", "position") if key in spec.config}
    made = _own(encoder.config)
    if "vocab_size" in decoder.config:
        own = spec.config.get("source_tokenizer") or spec.config.get("source_vocab_size")
        if encoder.modality == "text" and (own or made.get("vocab_size") != decoder.config["vocab_size"]):
            made["source_vocab_size"] = made["vocab_size"]
        made["vocab_size"] = decoder.config["vocab_size"]
        made["symbols"] = decoder.config.get("symbols")
    other = {key: spec.config[key] for key in ("bridge", "freeze", "source_tokenizer", *SHAPES) if key in spec.config}
    config = {**made, **kept, **other, **names, "decoder_config": _own(decoder.config)}
    return replace(spec, name=f"{PREFIX}{names['encoder']}+{names['decoder']}", config=config)


def _own(config: Mapping[str, Any]) -> dict[str, Any]:
    """Give the keywords that make a part again: its head and its task are no choice."""
    return {key: value for key, value in config.items() if key not in ("num_classes", "task")}


def _found(name: str, part: str, whole: str) -> ModelSpec:
    if not name:
        raise ConfigError(
            f"'{whole}' names no {part}: write joined:ENCODER+DECODER, such as joined:vit-micro+decoder-tiny"
        )
    if name.startswith(PREFIX):
        raise ConfigError(f"'{whole}': the {part} '{name}' is a joined model itself: name two plain models")
    try:
        return info(name)
    except UnknownModelError as error:
        raise UnknownModelError(f"'{whole}', its {part}: {error}") from error
