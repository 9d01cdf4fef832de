"""Keywords that a checkpoint of another library's Conformer tells: by Hugging Face's files, or by its tensors."""

import warnings
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from zoo import ModelSpec, WeightsError
from zoo.plugins.shared.audio.wav2vec2_config import asked_labels, check_asked, told_vocabulary, wave_keywords
from zoo.weights import read_json

FAMILY = "wav2vec2-conformer"
"""Their `model_type`."""
FIXED = {
    "hidden_act": ("swish", "silu"),
    "rotary_embedding_base": 10000,
    "layer_norm_eps": 1e-5,
}
"""What has one value here."""
POSITIONS = {"relative": "transformer-xl", "rotary": "rotary-input", None: "none"}
"""Their `position_embeddings_type`, and our `position`."""
UNTOLD = {
    "num_heads": "the heads of its attention",
    "convolution_first": "True, if the convolution stands before the attention",
}
"""What nothing tells in weights of torchaudio's Conformer; where heads are told or given, the second is False."""
SIZES = ("dim", "depth", "mlp_dim")
"""What a name stands for: with the same sizes, its heads are those of the name."""


def configure(
    state: Mapping[str, Any], repository: str | None, spec: ModelSpec, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Give keywords for a model that takes a checkpoint; see `ModelSpec.configure`.

    Raises:
        WeightsError: If the model is of a kind that is not made here, or something is neither told nor given; the text
            names all of it.
    """
    told: dict[str, Any] = {}
    untold = False
    config = read_json(repository, "config.json") if repository else {}
    if config.get("model_type") == FAMILY:
        told = _of_transformers(str(repository), config)
    if state:
        from zoo.plugins.conformer.convert import TORCHAUDIO, keywords_of

        told = (keywords_of(state) or {}) | told
        untold = TORCHAUDIO.found(state) is not None and "convolution_first" not in given
    told = told_vocabulary(state, told, spec, given)
    check_asked([*_asked_sizes(told, spec, given), *asked_labels(state, told, spec, given)])
    if untold:
        warnings.warn(
            "weights of torchaudio's Conformer do not tell whether the convolution stands before the attention: "
            "convolution_first=False is taken; give convolution_first=True where they were trained so",
            stacklevel=2,
        )
    return told


def _of_transformers(repository: str, config: Mapping[str, Any]) -> dict[str, Any]:
    kind = config.get("position_embeddings_type", "relative")
    if kind not in POSITIONS:
        raise WeightsError(
            f"{repository!r}: config.json has position_embeddings_type={kind!r}, known are {list(POSITIONS)}"
        )
    return {
        "stem": "wave",
        "last_norm": True,
        "norm": "batch",
        "position": POSITIONS[kind],
        "kernel_size": config.get("conv_depthwise_kernel_size", 31),
        **wave_keywords(repository, FIXED),
    }


def _asked_sizes(told: Mapping[str, Any], spec: ModelSpec, given: Mapping[str, Any]) -> list[str]:
    """Say what to give where weights do not tell it, and their model is not of the sizes of its name."""
    from zoo.plugins.conformer.models import ConformerConfig

    named = {**spec.config, **given}
    heads = "num_heads" in told or "num_heads" in given
    if heads or "dim" not in told or all(told[size] == named[size] for size in SIZES):
        return []
    known = {field.name for field in fields(ConformerConfig)}
    return [f"{keyword}= ({why})" for keyword, why in UNTOLD.items() if keyword in known and keyword not in given]
