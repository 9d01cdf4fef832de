"""A training of `zoo bench parallel-decoding`: a model that writes, its scores and its time."""

import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import zoo
from zoo.core import ConfigError
from zoo.data import DatasetInfo, Parts, evaluation_mode, fingerprint, open_corpus
from zoo.plugins.text.data.parallel_corpus import ParallelCorpus

SIZES: dict[str, Any] = {"dim": 128, "depth": 2, "num_heads": 4, "mlp_dim": 512, "dropout": 0.1, "label_smoothing": 0.1}
"""Of both models."""
TEACHER, STUDENT = "transformer-tiny", "nat-base"
TIMED = {"one": 1, "batch": 64}
"""Rows that are written together where time is measured, by the name of the result."""
ROWS = 64
"""That are written for the time of each."""


def train(config: Mapping[str, Any]) -> dict[str, Any]:
    """Train a model, and judge it on the test.

    Returns:
        `exact match` and `BLEU`; `parameters`; `one` and `batch`, milliseconds of the processor for each answer,
        written one by one or 64 together; `seconds` of the training, without those of the teacher.
    """
    budget = tuple(config[key] for key in ("steps", "batch_size", "seed"))
    if config["variant"] == "autoregressive":
        model, scores, seconds = taught(config["data"], *budget)
    else:
        model, scores, seconds = fitted(STUDENT, student_corpus(config), *budget)
    corpus = opened(config["data"], TEACHER)
    speeds = {name: milliseconds(model, corpus, rows) for name, rows in TIMED.items()}
    kept = {name: scores[name] for name in ("exact match", "BLEU")}
    return kept | speeds | {"seconds": seconds, "parameters": sum(each.numel() for each in model.parameters())}


def student_corpus(config: Mapping[str, Any]) -> ParallelCorpus:
    """Give the data of a non-autoregressive model: as they are, or with the training texts that the teacher writes."""
    if config["variant"] == "non-autoregressive":
        return opened(config["data"], STUDENT)
    if config["variant"] != "distilled":
        raise ConfigError(f"variant={config['variant']!r} is not one of autoregressive, non-autoregressive, distilled")
    budget = (config["steps"], config["batch_size"], config["seed"])
    return distilled(opened(config["data"], STUDENT), taught(config["data"], *budget)[0])


def distilled(corpus: ParallelCorpus, teacher: Any) -> ParallelCorpus:
    """Give the same data, with what a teacher writes of the training inputs, arXiv:1606.07947 sec. 3.2, greedily."""
    texts = {each.pair.source: each.text for each in corpus.write(teacher, "train", 256)}
    train = [pair._replace(target=texts[pair.source]) for pair in corpus.parts["train"] if texts[pair.source].strip()]
    parts = Parts(train, corpus.parts["validation"], corpus.parts["test"])
    told = DatasetInfo(f"{corpus.name}, distilled", corpus.description, fingerprint(map(str, texts.items())))
    return type(corpus)(told, corpus.spec, corpus.tokenizer, parts, corpus.metric, corpus.units)


@lru_cache(maxsize=4)
def opened(data: str, name: str) -> ParallelCorpus:
    """Open a task for a model."""
    corpus = open_corpus(data, zoo.info(name))
    assert isinstance(corpus, ParallelCorpus)
    return corpus


@lru_cache(maxsize=2)
def taught(data: str, steps: int, batch_size: int, seed: int) -> tuple[Any, dict[str, float], float]:
    """Train the autoregressive model, once for all that learn of it."""
    return fitted(TEACHER, opened(data, TEACHER), steps, batch_size, seed)


def fitted(
    name: str, corpus: ParallelCorpus, steps: int, batch_size: int, seed: int
) -> tuple[Any, dict[str, float], float]:
    """Train a model; give it with its scores on the test, and the seconds of the processor."""
    begun = time.process_time()
    trained = zoo.train(
        name, corpus, steps=steps, batch_size=batch_size, seed=seed, optimizer="muon", validations=2, **SIZES
    )
    return trained.model, trained.scores, time.process_time() - begun


def milliseconds(model: Any, corpus: ParallelCorpus, rows: int) -> float:
    """Give the time of the processor for each answer to a test input, so many written together, after a warm-up."""
    places = list(range(min(ROWS, corpus.sizes["test"])))
    most = int(corpus.targets["train"].lengths.max())
    with evaluation_mode(model):
        model.generate(*corpus.prompts("test", places[:rows]), max_len=most)
        begun = time.process_time()
        for first in range(0, len(places), rows):
            model.generate(*corpus.prompts("test", places[first : first + rows]), max_len=most)
        return 1000 * (time.process_time() - begun) / len(places)
