"""Tasks on sequences of tokens as texts: the sources `mqar`, `selective-copy`, `induction`, `listops`, `pathfinder`."""

from collections.abc import Callable, Iterator
from itertools import chain, islice

import torch

from zoo import ConfigError, DataError, ModelSpec
from zoo.core import IGNORED
from zoo.data import names_of
from zoo.data.sequences import Induction, ListOps, Pathfinder, Recall, SelectiveCopy, SequenceTask
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer
from zoo.plugins.text.data.file_readers import Sentence
from zoo.plugins.text.data.labelled_corpus import Labelled, LabelledCorpus, TaggedCorpus
from zoo.plugins.text.data.synthetic.tasks import SIZES, about, in_parts

ARENA_SIZES = (96_000, 2000, 2000)
"""Expressions of training, validation and test, arXiv:2011.04006 sec. 2.2.1."""
_DRAWN_AT_ONCE = 500


def open_mqar(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> TaggedCorpus:
    """Open keys with values and queries (arXiv:2312.04927); the argument is `PAIRS,LENGTH`."""
    return _tagged("mqar", argument, "pairs,length", Recall, spec, seed, tokenizer)


def open_selective_copy(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> TaggedCorpus:
    """Open letters in noise, to be written in their order (arXiv:2312.00752); the argument is `LETTERS,LENGTH`."""
    return _tagged("selective-copy", argument, "letters,length", SelectiveCopy, spec, seed, tokenizer)


def open_induction(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> TaggedCorpus:
    """Open letters of which one follows a mark, and the mark again (arXiv:2312.00752); the argument is `LENGTH`."""
    return _tagged("induction", argument, "length", Induction, spec, seed, tokenizer)


def open_pathfinder(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> TaggedCorpus:
    """Open pictures with two dots, joined by a contour or not (arXiv:1810.08214); the argument is `SIZE`."""
    return _tagged("pathfinder", argument, "size", Pathfinder, spec, seed, tokenizer)


def open_listops(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> LabelledCorpus:
    """Open nested lists of digits with their values; the argument `lra` gives those of the Long Range Arena.

    Raises:
        DataError: If the argument is another.
    """
    if argument not in ("", "lra"):
        raise DataError(f"'listops:{argument}': it is listops, or listops:lra for 500 to 2,000 words")
    task, sizes = (ListOps.arena(), ARENA_SIZES) if argument else (ListOps(), SIZES)
    drawn = islice(task.expressions(seed), sum(sizes))
    parts = in_parts([Labelled(" ".join(each.words), str(each.value), "a drawn expression") for each in drawn], sizes)
    chosen = choose_tokenizer(tokenizer, "word", [each.text for each in parts.train])
    name = "listops:lra" if argument else "listops"
    found = about(name, f"nested lists of digits of {task.shortest} to {task.longest} words", parts, chosen.content)
    return LabelledCorpus(found, spec, chosen, parts, task.classes)


def _tagged(
    name: str,
    argument: str,
    takes: str,
    make: Callable[..., SequenceTask],
    spec: ModelSpec,
    seed: int,
    tokenizer: str,
) -> TaggedCorpus:
    """Open a task whose sizes are the numbers of the argument.

    Raises:
        DataError: If it has others, or they do not fit.
    """
    numbers = argument.split(",") if argument else []
    names = takes.split(",")
    if numbers and (len(numbers) != len(names) or not all(each.isdecimal() for each in numbers)):
        raise DataError(f"'{name}:{argument}': it is {name}, or {name}:{takes.upper()} with numbers")
    try:
        task = make(**dict(zip(names, map(int, numbers), strict=False)))
    except ConfigError as error:
        raise DataError(f"'{name}:{argument}': {error}") from error
    parts = in_parts(list(islice(_sentences(task, seed), sum(SIZES))), SIZES)
    chosen = choose_tokenizer(tokenizer, "word", [" ".join(each.words) for each in parts.train])
    found = about(f"{name}{':' * bool(argument)}{argument}", f"sequences of {task.length} words", parts, chosen.content)
    tags = chain.from_iterable(each.tags for part in parts for each in part)
    return TaggedCorpus(found, spec, chosen, parts, names_of((tag for tag in tags if tag), name))


def _sentences(task: SequenceTask, seed: int) -> Iterator[Sentence]:
    """Give drawn sequences as words, each with its label; an empty one where nothing is asked."""
    generator = torch.Generator().manual_seed(seed)
    while True:
        drawn = task.draw(_DRAWN_AT_ONCE, generator)
        for ids, length, targets in zip(*(x.tolist() for x in drawn), strict=True):
            words = tuple(task.words[token] for token in ids[:length])
            tags = tuple("" if target == IGNORED else task.classes[target] for target in targets[:length])
            yield Sentence(words, tags, "a drawn sequence")
