"""Keywords that a repository of Hugging Face transformers tells of a model on `WaveStem`, by its files.

For the families `wav2vec2` and `wav2vec2-conformer`. Imports nothing heavy.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from zoo import ModelSpec, WeightsError
from zoo.plugins.shared.text.ctc_labels import ctc_labels
from zoo.weights import read_json

SIZES = {
    "hidden_size": "dim",
    "num_hidden_layers": "depth",
    "num_attention_heads": "num_heads",
    "intermediate_size": "mlp_dim",
}
"""Their names of sizes, and ours."""
FIXED = {
    "conv_kernel": [10, 3, 3, 3, 3, 2, 2],
    "conv_stride": [5, 2, 2, 2, 2, 2, 2],
    "feat_extract_activation": "gelu",
    "add_adapter": False,
    "adapter_attn_dim": None,
}
"""What has one value here."""
ENGLISH = ["-", *"|ETAONIHSRDLUMWCFGYPBVK'XJQZ"]
"""Labels of torchaudio's bundles of LibriSpeech, `WAV2VEC2_ASR_BASE_960H` and the like; the first is the blank."""
VOCABULARY = ("labels", "blank", "vocab_size")
"""Keywords of a vocabulary of CTC, which an attention decoder cannot do with."""


def wave_keywords(repository: str, fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Give the keywords of a model: its task, sizes, convolutions, and of one that recognises its vocabulary.

    Args:
        repository: `local-dir:PATH` or `hf-hub:org/name`, whose `config.json` is of transformers.
        fixed: further keys that have one value here.

    Raises:
        WeightsError: If the model is of a kind that is not made here; the text names the keys.
    """
    config = read_json(repository, "config.json")
    check_fixed(repository, config, FIXED | dict(fixed))
    told: dict[str, Any] = {ours: config[key] for key, ours in SIZES.items() if key in config}
    channels = set(config.get("conv_dim") or ())
    if len(channels) > 1:
        raise WeightsError(f"{repository!r}: config.json has conv_dim={config['conv_dim']}: here all are one number")
    if channels:
        told["conv_dim"] = channels.pop()
    norm = config.get("feat_extract_norm", "group")
    told["conv_norm"] = norm
    if config.get("conv_bias", norm == "layer") != (norm == "layer"):
        raise WeightsError(
            f"{repository!r}: config.json has conv_bias={config['conv_bias']} with feat_extract_norm={norm!r}; "
            "convolutions have biases here where each is normed, by layer"
        )
    prepared = read_json(repository, "preprocessor_config.json") or read_json(repository, "processor_config.json")
    normalises = (prepared.get("feature_extractor") or prepared).get("do_normalize")
    if normalises is not None:
        told["normalise"] = "utterance" if normalises else "none"
    if any(name.endswith("ForCTC") for name in config.get("architectures") or ()):
        told |= {"task": "generate"} | recognition_keywords(repository, config)
    return told


def recognition_keywords(repository: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Give the vocabulary of CTC: `labels`, `blank` and their number; without a `vocab.json` the number alone."""
    outputs = config.get("vocab_size")
    told = ctc_labels(repository, outputs)
    size = len(told["labels"]) if told else outputs
    return told if size is None else told | {"vocab_size": size}


def told_vocabulary(
    state: Mapping[str, Any], told: Mapping[str, Any], spec: ModelSpec, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Give what is told, with the vocabulary that the classifier of a checkpoint tells where no file does.

    The number of outputs of torchaudio's models tells it: 29 are those of LibriSpeech.

    Args:
        state: of the checkpoint.
        told: keywords that are known.
        spec: of the model.
        given: keywords of the caller.
    """
    if given.get("by", spec.config["by"]) != "ctc":
        return {keyword: value for keyword, value in told.items() if keyword not in VOCABULARY}
    name, outputs = _emitting(state)
    if not outputs or "labels" in {**told, **given}:
        return dict(told)
    if outputs == len(ENGLISH) and name.endswith("aux.weight"):
        return {**told, "labels": ENGLISH, "blank": 0, "vocab_size": outputs}
    return {**told, "vocab_size": outputs}


def asked_labels(
    state: Mapping[str, Any], told: Mapping[str, Any], spec: ModelSpec, given: Mapping[str, Any]
) -> list[str]:
    """Say what to give where a checkpoint is to write by CTC and nothing tells what; nothing where all is told.

    Args:
        state: of the checkpoint.
        told: keywords that are known.
        spec: of the model.
        given: keywords of the caller.
    """
    name, outputs = _emitting(state)
    named = {"task": spec.task, "by": spec.config["by"], "vocab_size": outputs, **given}
    writes = (named["task"], named["by"], named["vocab_size"]) == ("generate", "ctc", outputs)
    if not outputs or not writes or "labels" in {**told, **given}:
        return []
    return [
        f"labels=[…] (what the {outputs} outputs of {name!r} write, '|' between words, such as bundle.get_labels() of "
        "torchaudio; and blank=, if it is not the first)"
    ]


def check_asked(asked: Sequence[str]) -> None:
    """Ask for all that nothing tells at once.

    Raises:
        WeightsError: If there is something.
    """
    if asked:
        raise WeightsError(f"the weights do not tell all that their model needs: give {' and '.join(asked)}")


def _emitting(state: Mapping[str, Any]) -> tuple[str, int]:
    """Give the name of what emits tokens and how many these are; 0 where there is none."""
    heads = ((key, len(value)) for key, value in state.items() if re.search(r"(^|\.)(aux|lm_head)\.weight$", key))
    return next(heads, ("", 0))


def check_fixed(repository: str, config: Mapping[str, Any], fixed: Mapping[str, Any]) -> None:
    """Refuse values that are not made here, all in one error.

    Args:
        repository: for the error.
        config: what its `config.json` says.
        fixed: keys and the value that each has here; a tuple holds several.

    Raises:
        WeightsError: If there is one.
    """
    wrong = [
        f"{key}={config[key]!r} (here {' or '.join(map(repr, known))})"
        for key, value in fixed.items()
        if (known := value if isinstance(value, tuple) else (value,)) and config.get(key, known[0]) not in known
    ]
    if wrong:
        raise WeightsError(f"{repository!r}: its config.json has what is not made here: {', '.join(wrong)}")
