"""Keywords that a checkpoint of wav2vec 2.0 tells: by Hugging Face's files, or by the shapes of its tensors."""

import re
from collections.abc import Mapping
from typing import Any

from zoo import ModelSpec, WeightsError
from zoo.plugins.shared.audio.wav2vec2_config import wave_keywords
from zoo.weights import read_json

FAMILY = "wav2vec2"
"""Their `model_type`."""
FIXED = {
    "num_conv_pos_embeddings": 128,
    "num_conv_pos_embedding_groups": 16,
    "hidden_act": "gelu",
}
ENGLISH = ["-", *"|ETAONIHSRDLUMWCFGYPBVK'XJQZ"]
"""Labels of torchaudio's bundles of LibriSpeech, `WAV2VEC2_ASR_BASE_960H` and the like; the first is the blank."""


def configure(
    state: Mapping[str, Any], repository: str | None, spec: ModelSpec, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Give keywords for a model that takes a checkpoint; see `ModelSpec.configure`.

    Of torchaudio's models the number of labels tells the vocabulary: 29 are those of LibriSpeech.

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
    return told | told_vocabulary(state, told, {"task": spec.task, **given})


def told_vocabulary(state: Mapping[str, Any], told: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Give the vocabulary that the classifier of a checkpoint tells, where files beside it tell none."""
    name, outputs = next(
        ((key, len(value)) for key, value in state.items() if re.search(r"(^|\.)(aux|lm_head)\.weight$", key)), ("", 0)
    )
    if "labels" in told or "labels" in given or not outputs:
        return {}
    if outputs == len(ENGLISH) and name.endswith("aux.weight"):
        return {"labels": ENGLISH, "blank": 0, "vocab_size": outputs}
    if given["task"] == "generate" and given.get("vocab_size", outputs) == outputs:
        raise WeightsError(
            f"weights whose {name!r} has {outputs} outputs do not tell what these write: give labels=[…], one text for "
            "each and '|' between words, such as bundle.get_labels() of torchaudio; and blank=, if it is not the first"
        )
    return {"vocab_size": outputs}
