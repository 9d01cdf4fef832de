"""Keywords that a checkpoint of wav2vec 2.0 tells: by Hugging Face's files, or by the shapes of its tensors."""

from collections.abc import Mapping
from typing import Any

from zoo import ModelSpec
from zoo.plugins.shared.audio.wav2vec2_config import asked_labels, check_asked, told_vocabulary, wave_keywords
from zoo.weights import read_json

FAMILY = "wav2vec2"
"""Their `model_type`."""
FIXED = {
    "num_conv_pos_embeddings": 128,
    "num_conv_pos_embedding_groups": 16,
    "hidden_act": "gelu",
}
"""What has one value here."""


def configure(
    state: Mapping[str, Any], repository: str | None, spec: ModelSpec, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Give keywords for a model that takes a checkpoint; see `ModelSpec.configure`.

    Raises:
        WeightsError: If the model is of a kind that is not made here, or nothing tells the vocabulary of one that is to
            write.
    """
    config = read_json(repository, "config.json") if repository else {}
    told: dict[str, Any] = {}
    if config.get("model_type") == FAMILY:
        norm = {"norm": "pre" if config.get("do_stable_layer_norm") else "post"}
        eps = {"eps": config["layer_norm_eps"]} if "layer_norm_eps" in config else {}
        told = {"position": "convolution", **norm, **eps, **wave_keywords(str(repository), FIXED)}
    told = told_vocabulary(state, told, spec, given)
    check_asked(asked_labels(state, told, spec, given))
    return told
