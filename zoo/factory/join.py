"""`join`: any encoder with any decoder, by their names."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zoo.errors import ConfigError
from zoo.factory.create import create

if TYPE_CHECKING:
    import torch


def join(
    encoder: str,
    decoder: str,
    bridge: str = "linear",
    *,
    freeze: str | Sequence[str] = "",
    pretrained: bool | None = None,
    weights: Any = None,
    encoder_weights: Any = None,
    decoder_weights: Any = None,
    encoder_config: Mapping[str, Any] | None = None,
    decoder_config: Mapping[str, Any] | None = None,
    **options: Any,
) -> "torch.nn.Module":
    """Put any encoder before any decoder; the same as `zoo.create("joined:ENCODER+DECODER", …)`.

    The decoder reads the encoder's vectors by cross-attention. One that has none gets it, behind a gate of zero
    (arXiv:2204.14198), so that its answers are unchanged until it is trained; `model.new_parts` names what is new.

    Args:
        encoder: name of a model with the task `features`: of pictures, sounds, texts, graphs, or of a plugin.
        decoder: name of a model with the task `generate`, or of a BERT, which then reads what comes before only.
        bridge: to the decoder's channels: `linear`; `pool:N`, the means of N stretches of vectors through a linear
            layer; or `none`, for equal channels.
        freeze: what stays as it is in a training: `encoder`, `decoder` (but for what is new), or a pattern of
            parameters' names such as `decoder.blocks.[0-3].*`; several in a list, or with a comma between.
        pretrained: load the published weights of both.
        weights: of the whole, as for `zoo.create`; also a state dict of Hugging Face's `VisionEncoderDecoderModel`,
            `SpeechEncoderDecoderModel` or `EncoderDecoderModel`.
        encoder_weights: of the encoder: True for the published ones, or as `weights=` of `zoo.create`.
        decoder_weights: of the decoder, the same.
        encoder_config: keywords of the encoder.
        decoder_config: keywords of the decoder.
        options: of `zoo.create`, such as `device` and `dtype`.

    Raises:
        UnknownModelError: If there is no such model.
        ConfigError: If the two cannot be joined; the text says why.
        WeightsError: If weights cannot be read or do not fit.
    """
    for keyword, config in (("encoder_config", encoder_config), ("decoder_config", decoder_config)):
        if config is not None and not isinstance(config, Mapping):
            raise ConfigError(f"{keyword}={config!r}: a mapping of keywords is wanted, such as {{'depth': 2}}")
    if not isinstance(freeze, str) and not (
        isinstance(freeze, Sequence) and all(isinstance(each, str) for each in freeze)
    ):
        raise ConfigError(
            f"freeze={freeze!r}: 'encoder', 'decoder' or a pattern of names is wanted, or a list of these"
        )
    given: dict[str, Any] = {f"encoder.{key}": value for key, value in (encoder_config or {}).items()}
    parts = {"encoder_weights": encoder_weights, "decoder_weights": decoder_weights}
    chosen: dict[str, Any] = {
        "bridge": bridge,
        "freeze": (freeze if isinstance(freeze, str) else ",".join(freeze)) or None,
        "decoder_config": dict(decoder_config or {}) or None,
    }
    given |= chosen | parts | options
    name = f"joined:{_named('encoder', encoder)}+{_named('decoder', decoder)}"
    return create(name, pretrained, weights=weights, **given)


def _named(part: str, value: object) -> str:
    """Give the name of a part; a model in its place is refused."""
    if isinstance(value, str):
        return value
    raise ConfigError(
        f"{part}: a {type(value).__name__} in place of a name such as 'vit-micro' or 'local-dir:runs/mine'; weights of "
        f"your own are {part}_weights="
    )
