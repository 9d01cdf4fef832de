"""Keywords that a repository of Hugging Face transformers tells of a model on `WaveStem`, by its files.

For the families `wav2vec2` and `wav2vec2-conformer`. Imports nothing heavy.
"""

from collections.abc import Mapping
from typing import Any

from zoo import WeightsError
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
        raise WeightsError(f"{repository!r}: config.json has conv_dim={config['conv_dim']}, and one number is made here")
    told |= {"conv_dim": channel for channel in channels}
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
