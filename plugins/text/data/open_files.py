"""The user's data for `zoo train`: the sources `parallel:FILE`, `labelled:FILE`, `tagged:FILE` and `lines:FILE`."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from zoo import DataError, ModelSpec
from zoo.data import DatasetInfo, Parts, complete, fingerprint, names_of, parse
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer
from zoo.plugins.text.data.file_readers import (
    Sentence,
    locate,
    read_columns,
    read_lines,
    read_side_by_side,
    read_table,
)
from zoo.plugins.text.data.labelled_corpus import Labelled, LabelledCorpus, TaggedCorpus
from zoo.plugins.text.data.language_model_corpus import Line, LinesCorpus, MaskedCorpus
from zoo.plugins.text.data.parallel_corpus import Pair, ParallelCorpus

Example = TypeVar("Example", Pair, Labelled, Sentence, Line)
DEFAULT_TOKENIZER = "bpe:8000"
"""Learned from the training part."""


class Opened(NamedTuple):
    """Names of a user's files, and whether they had validation and test splits."""

    place: str
    given: frozenset[str]


def open_parallel(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> ParallelCorpus:
    """Open pairs of texts: a table, two files `A,B`, or a folder; `?source=KEY&target=KEY` names columns or keys.

    `?units=char` lets BLEU count characters, for languages without spaces; see `scores.bleu`.
    """
    place, options = parse(argument, ("source", "target", "units"))
    keys = [options[key] for key in ("source", "target") if key in options]

    def read(paths: tuple[Path, ...]) -> list[Pair]:
        if len(paths) > 2:
            raise DataError(f"{place}: {len(paths)} files, where two belong together")
        rows = read_side_by_side(*paths) if len(paths) == 2 else read_table(paths[0], ("source", "target"), options)
        for row in rows:
            for side, text in zip(("source", "target"), row.values, strict=True):
                if not text.strip():
                    raise DataError(f"{row.place}: the {side} is empty")
        return [Pair(row.values[0], row.values[1], row.place) for row in rows]

    opened, parts = _open(place, read, lambda pair: pair.source, seed, keys if len(keys) == 2 else ())
    chosen = choose_tokenizer(tokenizer, DEFAULT_TOKENIZER, [text for pair in parts.train for text in pair[:2]])
    about = _about(opened, "pairs of texts", parts, (f"{seed}{chosen.content}",))
    return ParallelCorpus(about, spec, chosen, parts, units=options.get("units", "13a"))


def open_labelled(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> LabelledCorpus:
    """Open texts with a label each: a table, or a folder; `?text=KEY&label=KEY` names columns or keys."""
    place, options = parse(argument, ("text", "label"))

    def read(paths: tuple[Path, ...]) -> list[Labelled]:
        rows = read_table(_single(paths), ("text", "label"), options)
        for row in rows:
            if not row.values[1].strip():
                raise DataError(f"{row.place}: the label is empty")
        return [Labelled(row.values[0], row.values[1].strip(), row.place) for row in rows]

    opened, parts = _open(place, read, lambda example: example.text, seed)
    known = parts.train if opened.given else [example for part in parts for example in part]
    hint = (
        "If they are texts to be generated, such as translations, train a model that generates: "
        f"zoo train transformer-tiny --data parallel:{place}"
    )
    labels = names_of((example.label for example in known), opened.place, hint)
    chosen = choose_tokenizer(tokenizer, DEFAULT_TOKENIZER, [example.text for example in parts.train])
    about = _about(opened, f"texts with {len(labels)} labels", parts, (f"{seed}{chosen.content}",))
    return LabelledCorpus(about, spec, chosen, parts, labels)


def open_tagged(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> TaggedCorpus:
    """Open sentences with a label for each word, in CoNLL columns; `?token=1&tag=4` names columns by number."""
    place, options = parse(argument, ("token", "tag"))
    opened, parts = _open(place, lambda paths: read_columns(_single(paths), options), lambda each: each.words, seed)
    known = parts.train if opened.given else [sentence for part in parts for sentence in part]
    labels = names_of((tag for sentence in known for tag in sentence.tags), opened.place)
    chosen = choose_tokenizer(tokenizer, DEFAULT_TOKENIZER, [" ".join(sentence.words) for sentence in parts.train])
    what = f"sentences with {len(labels)} labels of words"
    return TaggedCorpus(_about(opened, what, parts, (f"{seed}{chosen.content}",)), spec, chosen, parts, labels)


def open_lines(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> LinesCorpus | MaskedCorpus:
    """Open texts, one in each line, for the task that the model has: the next token, or tokens that are hidden."""
    place, options = parse(argument, ("text",))

    def read(paths: tuple[Path, ...]) -> list[Line]:
        return [Line(row.values[0], row.place) for row in read_lines(_single(paths), options)]

    opened, parts = _open(place, read, lambda line: line.text, seed)
    chosen = choose_tokenizer(tokenizer, DEFAULT_TOKENIZER, [line.text for line in parts.train])
    about = _about(opened, "lines of text", parts, (f"{seed}{chosen.content}",))
    kind = MaskedCorpus if spec.reads == "encoder" else LinesCorpus
    return kind(about, spec, chosen, parts)


def _open(
    place: str,
    read: Callable[[tuple[Path, ...]], list[Example]],
    key: Callable[[Example], Hashable],
    seed: int,
    languages: Sequence[str] = (),
) -> tuple[Opened, Parts[Example]]:
    found: Mapping[str, tuple[Path, ...]] = locate(place, languages)
    given = {part: read(paths) for part, paths in found.items()}
    name = Path(place.partition(",")[0]).name
    return Opened(name, frozenset(given) - {"train"}), complete(given, key, seed, name)


def _single(paths: tuple[Path, ...]) -> Path:
    if len(paths) != 1:
        raise DataError(f"{', '.join(map(str, paths))}: one file wanted, not {len(paths)}")
    return paths[0]


def _about(opened: Opened, what: str, parts: Parts[Example], further: Iterable[str]) -> DatasetInfo:
    counts = f"{sum(map(len, parts)):,} {what}"
    split = "your own split" if opened.given else "a tenth each for validation and test"
    texts: list[str] = [repr(tuple(example)[:2]) for part in parts for example in part]
    return DatasetInfo(opened.place, f"`{opened.place}` holds {counts}, {split}.", fingerprint([*texts, *further]))
