"""What `zoo attention` and `zoo explore` show: a model by name with an example of data, or fresh weights."""

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from zoo.errors import ConfigError, DataError
from zoo.factory import create
from zoo.names import counted
from zoo.pipeline import Pipeline
from zoo.viz.attention_picture import Input, labelled
from zoo.weights.token_ids import tokenizer_name

if TYPE_CHECKING:
    from zoo.data.corpus import Corpus


class Loaded(NamedTuple):
    """Hold a model that was made, and the data that it is to read.

    Args:
        pipeline: of the model.
        corpus: of the data; None without any.
        random: whether its weights are random.
    """

    pipeline: Pipeline
    corpus: "Corpus | None"
    random: bool


def load(pipeline: Pipeline, fresh: bool, given: dict[str, Any], data: str | None) -> Loaded:
    """Make the model, with random weights if there are no others, and open the data it is to fit."""
    import torch

    spec = pipeline.spec
    weights = "" if fresh else next(iter(spec.weights.values()), "")
    fitting: dict[str, Any] = {}
    corpus = None
    if data is not None:
        from zoo.data.corpus import open_corpus
        from zoo.data.subsets import warn_of_notes

        tokenizer = tokenizer_name(weights, spec) if weights else ""
        spec_of_data = replace(spec.with_config(**given), task=given.get("task", spec.task))
        corpus = open_corpus(data, spec_of_data, tokenizer=tokenizer)
        warn_of_notes(corpus)
        if not weights:
            fitting = {key: value for key, value in corpus.overrides().items() if spec.config.get(key) != value}
    torch.manual_seed(0)
    model = create.create(pipeline.name, bool(weights), device=pipeline.device, **(fitting | given)).eval()
    if not weights:
        typer.echo(f"{pipeline.name} has random weights", err=True)
    return Loaded(Pipeline(pipeline.name, pipeline.device, model), corpus, not weights)


def check_example(number: int, data: str | None) -> None:
    """Check that a test example is one of named data.

    Raises:
        ConfigError: If no data are named.
    """
    if data is None and number != 1:
        raise ConfigError(f"--example {number} without --data, the source whose test example it is")


def example_of(pipeline: Pipeline, corpus: "Corpus", title: str, number: int) -> Input:
    """Give a test example of data.

    Raises:
        DataError: If there are fewer.
    """
    batch = next(islice(corpus.held_out("test", 1), number - 1, number), None)
    if batch is None:
        raise DataError(
            f"--example {number}: {title.partition(',')[0]!r} has {counted(corpus.sizes['test'], 'test example')}"
        )
    reader = getattr(corpus, "source_side", corpus)  # that of the sources, where each side has its own tokenizer
    return labelled(title, pipeline.model, pipeline.placed(batch.inputs), reader, corpus)
