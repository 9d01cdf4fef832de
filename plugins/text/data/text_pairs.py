"""Texts that a program gives: with a label each, with a label for each word, with their translation, or alone."""

from typing import Any

from zoo import ConfigError, DataError, ModelSpec
from zoo.data import BatchedCorpus, Pairs, described_item, label_cell
from zoo.plugins.text.data.text_table import open_table


def open_pairs(pairs: Pairs, spec: ModelSpec, seed: int, tokenizer: str) -> BatchedCorpus:
    """Make a corpus of what the model reads.

    An encoder-decoder reads pairs of texts (source, target); a decoder texts, or pairs; an encoder pairs of text and
    label, or of words and their labels; or texts alone, which are learned with gaps.

    Raises:
        DataError: If items are none of these.
        ConfigError: If the model reads no texts.
    """
    if spec.reads not in ("source", "prompt", "encoder"):
        raise ConfigError(f"'{spec.name}' reads {spec.reads!r}: give it a corpus")
    first = pairs.first()[0]
    alone = isinstance(first, str)
    if spec.reads == "source" or (spec.reads == "prompt" and not alone):
        table = pairs.table(source=_text, target=_target)
        if spec.reads == "prompt":
            table = _named(table, "source", "target")
    elif alone:
        table = pairs.table(paired=False, text=_text)
        if spec.reads == "encoder" and spec.config.get("task", spec.task) != "masked-token":
            raise DataError(
                f"train[0] is {described_item(first)}: a pair (text, label) is wanted, or task='masked-token' learns "
                "from texts alone"
            )
    elif pairs.paired and isinstance(first[0], list | tuple):
        table = pairs.table(tokens=_words, tags=_tags)
    else:
        table = _named(pairs.table(text=_text, label=label_cell), "text", "label")
    return open_table(table, spec, seed, tokenizer)


def _named(table: Any, *columns: str) -> Any:
    """Name columns by options, so that the model's task cannot leave one out."""
    from dataclasses import replace

    return replace(table, options=table.options | {name: name for name in columns})


def _text(given: Any, target: Any, place: str) -> str:
    return _checked(given, f"{place}: the text", "")


def _target(given: Any, target: Any, place: str) -> str:
    return _checked(target, f"{place}: the target", ", since the model writes texts")


def _checked(text: Any, what: str, why: str) -> str:
    if not isinstance(text, str):
        raise DataError(f"{what} is {described_item(text)}; a text is wanted{why}")
    return text


def _words(given: Any, target: Any, place: str) -> list[str]:
    if not isinstance(given, list | tuple) or not all(isinstance(word, str) for word in given):
        raise DataError(f"{place}: the words are {described_item(given)}; a list of texts is wanted")
    return list(given)


def _tags(given: Any, target: Any, place: str) -> list[str]:
    if not isinstance(target, list | tuple) or len(target) != len(given):
        raise DataError(
            f"{place}: the labels are {described_item(target)}; one for each of {len(given)} words is wanted"
        )
    return [str(label_cell(None, tag, place)) for tag in target]
