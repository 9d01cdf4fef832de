"""A run of `zoo bench fine-tuning`: pretrained on one half of the classes, fine-tuned on few examples of the others."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from zoo.bench.fine_tuning.some_classes import SomeClasses
from zoo.data.batches.batched_corpus import evaluation_mode, to_device
from zoo.data.cache import cached_folder
from zoo.data.corpus import Corpus, open_corpus
from zoo.data.splits import fingerprint
from zoo.errors import ConfigError
from zoo.factory import create
from zoo.training.api import train as start
from zoo.training.config import Settings
from zoo.training.fine_tuning.chosen_weights import choose_weights
from zoo.weights.checkpoint import save

SCRATCH, PROBE, FROZEN = "from scratch", "probe", "frozen encoder"
WAYS: dict[str, dict[str, Any]] = {
    SCRATCH: {},
    PROBE: {"probe": True},
    FROZEN: {"freeze": "encoder", "learning_rate": 1e-2},
    "whole": {"learning_rate": 1e-3},
    "layer decay": {"layer_decay": 0.65, "learning_rate": 1e-3},
    "lora": {"lora": "4:all", "learning_rate": 3e-3},
    "ema": {"ema": 0.99, "learning_rate": 1e-3},
}
"""Settings of each way; the rates are round numbers that nobody searched for."""
PRETRAINED_BY: dict[str, Any] = {"batch_size": 64, "validations": 2}


def train(config: Mapping[str, Any]) -> dict[str, Any]:
    """Fine-tune a model in one way.

    Returns:
        `accuracy` on the test examples of the new classes, of which `correct` says which were right, `seconds` of the
        training without validation, and how many parameters were `trained`.
    """
    model, config_of_model = config["model"], config["sizes"]
    corpus = opened(config["data"], model, config_of_model)
    count = len(corpus.labels)  # type: ignore[attr-defined]
    old, new = range(count // 2), range(count // 2, count)
    few: Any = SomeClasses(corpus, new, config["each"], config["seed"])
    scratch = config["way"] == SCRATCH
    weights = None if scratch else pretrained(config, SomeClasses(corpus, old))
    settings = {
        "batch_size": min(32, few.sizes["train"]),
        "seed": config["seed"],
        "precision": "32-true",
    }
    in_steps = {} if config["way"] == PROBE else {"steps": config["steps"], "validations": 5}
    given = settings | WAYS[config["way"]] | in_steps
    trained = start(model, few, weights=weights, **given, **config_of_model)
    right = _right(trained.model, few)
    return {
        "accuracy": sum(right) / len(right),
        "correct": "".join(map(str, right)),
        "seconds": trained.outcome.seconds,
        "trained": count_trained(model, few.overrides() | config_of_model, config["way"]),
    }


def opened(data: str, model: str, sizes: Mapping[str, Any]) -> Corpus:
    """Open the data for a model.

    Raises:
        ConfigError: If they have fewer than four classes.
    """
    corpus = open_corpus(data, create.info(model).with_config(**sizes))
    if len(getattr(corpus, "labels", ())) < 4:
        raise ConfigError(f"--data {data}: one half of the classes is learned first, then the other: 4 are needed")
    return corpus


def pretrained(config: Mapping[str, Any], old: SomeClasses) -> str:
    """Give a folder with weights that were trained on the other classes, once."""
    known = {key: config[key] for key in ("data", "model", "sizes", "pretraining_steps")}

    def make(folder: Path) -> None:
        corpus: Any = old
        found = start(
            config["model"], corpus, steps=config["pretraining_steps"], precision="32-true", **PRETRAINED_BY,
            **config["sizes"],
        )  # fmt: skip
        save(found.model, folder)

    name = fingerprint([repr(sorted(known.items())), old.fingerprint, repr(PRETRAINED_BY)])
    return str(cached_folder(f"fine-tuning/{name}", make))


def count_trained(model: str, fitting: dict[str, Any], way: str) -> int:
    """Count the parameters that a way trains."""
    made: nn.Module = create.create(model, **fitting)
    told: dict[str, Any] = {key: value for key, value in WAYS[way].items() if key in ("freeze", "lora")}
    if way == PROBE:
        told = {"freeze": "encoder"}
    choose_weights(made, Settings(**told))
    return sum(each.numel() for each in made.parameters() if each.requires_grad)


def _right(model: nn.Module, corpus: Any) -> list[int]:
    """Tell of each test example whether its class ranks first."""
    right: list[int] = []
    with evaluation_mode(model) as device:
        for batch in corpus.held_out("test", 256):
            inputs, target = to_device(batch, device)
            right += (model(*inputs).argmax(-1) == target).int().tolist()
    return right
