"""The user's data for `zoo train`: the sources `parallel:FILE`, `labelled:FILE`, `tagged:FILE` and `lines:FILE`.

A FILE is a path, several with commas between, a pattern such as `corpus/*.txt.gz`, or a folder. Up to `LARGE` bytes
examples are held in memory; more are a `TextStream`.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import zoo
from zoo import ConfigError, DataError, ModelSpec, ZooError
from zoo.data import (
    DatasetInfo,
    LineColumns,
    Parts,
    by_text,
    complete,
    fingerprint,
    for_training,
    label_columns,
    names_of,
    parse,
    separator_of,
    write_text,
)
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer
from zoo.plugins.shared.text.tokenizer import Tokenizer
from zoo.plugins.shared.text.vocabulary import LEARNERS, LISTS
from zoo.plugins.text.data.file_readers import Sentence, read_columns, read_lines, read_side_by_side, read_table
from zoo.plugins.text.data.label_set_files import LabelSet, check_columns, read_label_sets
from zoo.plugins.text.data.labelled_corpus import Labelled, LabelledCorpus, TaggedCorpus
from zoo.plugins.text.data.language_model_corpus import Line, LinesCorpus, MaskedCorpus
from zoo.plugins.text.data.multi_label_corpus import MultiLabelCorpus
from zoo.plugins.text.data.parallel_corpus import Pair, ParallelCorpus
from zoo.plugins.text.data.text_files import TABLES, ending, locate, text_size
from zoo.plugins.text.data.text_folders import class_folders, read_folder, understood
from zoo.plugins.text.data.text_stream import MOST, SAMPLE, TextStream

Example = TypeVar("Example", bound=tuple[Any, ...])
DEFAULT_TOKENIZER = "bpe:8000"
"""Learned from the training part."""
LARGE = 32 * 2**20
"""Bytes of text from which on examples are streamed and, for models of language, packed."""


def open_parallel(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> ParallelCorpus:
    """Open pairs of texts: tables, two files `A,B`, or a folder; `?source=KEY&target=KEY` names columns or keys.

    `?units=char` lets BLEU count characters, for languages without spaces; see `scores.bleu`.
    """
    place, options = parse(argument, ("source", "target", "units"))
    keys = [options[key] for key in ("source", "target") if key in options]

    def read(paths: Sequence[Path]) -> Iterator[Pair]:
        sides = len(paths) == 2 and ("," in place or ending(paths[0]) not in TABLES)
        tables = (row for path in paths for row in read_table(path, ("source", "target"), options))
        for row in read_side_by_side(*paths) if sides else tables:
            for side, text in zip(("source", "target"), row.values, strict=True):
                if not text.strip():
                    raise DataError(f"{row.place}: the {side} is empty")
            yield Pair(row.values[0], row.values[1], row.place)

    data = read_examples("pairs", place, options, read, lambda pair: pair.source, seed, keys if len(keys) == 2 else ())
    chosen = data.tokenizer(tokenizer, lambda pair: pair[:2])
    about, units = data.about("pairs of texts", chosen), options.get("units", "13a")
    corpus = ParallelCorpus(about, spec, chosen, data.parts, units=units)
    corpus.columns = data.columns()
    return corpus


def open_labelled(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> LabelledCorpus | MultiLabelCorpus:
    """Open texts with labels: tables, or a folder; `?text=KEY&label=KEY` names columns or keys.

    A folder has a table for each part, or a folder for each class, see `class_folders`. A text has one
    label; with `?labels=A,B,C` (columns of 0 and 1) or `?separator=,` (several in one column) any number of them, which
    is multi-label classification.
    """
    place, options = parse(argument, ("text", "label", "labels", "separator"))
    if {"labels", "separator"} & options.keys():
        return _open_label_sets(place, options, spec, seed, tokenizer)

    def read(paths: Sequence[Path]) -> Iterator[Labelled]:
        if folders:
            yield from read_folder(paths)
            return
        for path in paths:
            for row in read_table(path, ("text", "label"), options):
                if not row.values[1].strip():
                    raise DataError(f"{row.place}: the label is empty")
                yield Labelled(row.values[0], row.values[1].strip(), row.place)

    folders = class_folders(place)
    data = read_examples("labelled", place, options, read, lambda example: example.text, seed, files=folders)
    hint = (
        "If they are texts to be generated, such as translations, train a model that generates: "
        f"zoo train transformer-tiny --data parallel:{place}"
    )
    labels = data.labels(lambda example: (example.label,), hint)
    chosen = data.tokenizer(tokenizer, lambda example: (example.text,))
    how = f" ({', '.join(labels[:5])}), {understood(folders)}" if folders else ""
    about = data.about(f"texts with {len(labels)} labels{how}", chosen)
    corpus = LabelledCorpus(about, spec, chosen, data.parts, labels)
    corpus.columns = None if folders else data.columns()
    return corpus


def _open_label_sets(
    place: str, options: Mapping[str, str], spec: ModelSpec, seed: int, tokenizer: str
) -> MultiLabelCorpus:
    """Open texts with any number of labels each."""
    columns = label_columns(options)
    separator_of(options)

    def read(paths: Sequence[Path]) -> Iterator[LabelSet]:
        return (example for path in paths for example in read_label_sets(path, options))

    data = read_examples("label sets", place, options, read, lambda example: example.text, seed)
    if columns and not isinstance(data.parts, TextStream):
        check_columns(columns, data.parts, data.name)
    labels = list(columns) or data.labels(lambda example: example.labels)
    chosen = data.tokenizer(tokenizer, lambda example: (example.text,))
    about = data.about(f"texts with any of {len(labels)} labels", chosen)
    corpus = MultiLabelCorpus(about, spec, chosen, data.parts, labels)
    corpus.columns = data.columns()
    return corpus


def open_tagged(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> TaggedCorpus:
    """Open sentences with a label for each word, in CoNLL columns; `?token=1&tag=4` names columns by number."""
    place, options = parse(argument, ("token", "tag"))

    def read(paths: Sequence[Path]) -> Iterator[Sentence]:
        return (sentence for path in paths for sentence in read_columns(path, options))

    data = read_examples("tagged", place, options, read, lambda sentence: " ".join(sentence.words), seed)
    labels = data.labels(lambda sentence: sentence.tags)
    chosen = data.tokenizer(tokenizer, lambda sentence: (" ".join(sentence.words),))
    about = data.about(f"sentences with {len(labels)} labels of words", chosen)
    return TaggedCorpus(about, spec, chosen, data.parts, labels)


def open_lines(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> LinesCorpus | MaskedCorpus:
    """Open texts, one in each line, for the task that the model has: the next token, or tokens that are hidden.

    `?pack=yes` packs the training of a decoder, `?pack=no` does not; without it, texts of `LARGE` bytes are packed.
    """
    place, options = parse(argument, ("text", "pack"))

    def read(paths: Sequence[Path]) -> Iterator[Line]:
        return (Line(row.values[0], row.place) for path in paths for row in read_lines(path, options))

    data = read_examples("lines", place, options, read, lambda line: line.text, seed)
    chosen = data.tokenizer(tokenizer, lambda line: (line.text,))
    if spec.reads == "encoder":
        return MaskedCorpus(data.about("lines of text", chosen), spec, chosen, data.parts)
    pack = packs(options.get("pack", ""), spec, isinstance(data.parts, TextStream))
    about = data.about("lines of text", chosen, *(["pack"] if pack else []))
    return LinesCorpus(about, spec, chosen, data.parts, pack)


def read_examples(
    kind: str,
    place: str,
    options: Mapping[str, str],
    read: Callable[[Sequence[Path]], Iterator[Example]],
    text: Callable[[Example], str],
    seed: int,
    languages: Sequence[str] = (),
    files: Mapping[str, tuple[Path, ...]] | None = None,
) -> "TextData[Example]":
    """Read a user's files into parts, split by the hash of a text; or stream them where they are large.

    Args:
        kind: of the source; options that decide what is read are told with it.
        place: the files.
        options: of the source.
        read: gives the examples of files.
        text: of an example; those that share it are in one part.
        seed: of the split.
        languages: endings of two parallel files.
        files: of each part, where they are found already.
    """
    files = files or locate(place, languages)
    name, given = Path(place.partition(",")[0]).name, bool(files.keys() - {"train"})
    if sum(map(text_size, files.values())) >= LARGE:
        stream = TextStream(files, read, text, seed, name, f"{kind} {sorted(options.items())}")
        return TextData(name, seed, given, stream)
    parts = complete({part: list(read(paths)) for part, paths in files.items()}, text, seed, name, by_text)
    return TextData(name, seed, given, parts)


class TextData(Generic[Example]):
    """A user's examples, in memory or streamed, and what is told of them.

    Args:
        name: of the data.
        seed: of the split.
        given: whether a part for validation or test is given.
        parts: the examples.
    """

    def __init__(self, name: str, seed: int, given: bool, parts: Parts[Example] | TextStream[Example]) -> None:
        self.name, self.seed, self.given, self.parts = name, seed, given, parts

    def labels(self, labels: Callable[[Example], Iterable[str]], hint: str = "") -> list[str]:
        """Give the names of labels: those of the training, where that is given apart."""
        parts, given = self.parts, self.given
        if not isinstance(parts, TextStream):
            known = parts.train if given and for_training() else [example for part in parts for example in part]
            return names_of((label for example in known for label in labels(example)), self.name, hint)
        learned = given and for_training()
        found = (label for part, example in parts if part == "train" or not learned for label in labels(example))

        def name(path: Path) -> None:
            write_text(path, json.dumps(names_of(found, self.name, hint)))

        names: list[str] = json.loads(
            parts.cached("labels.json" if for_training() else "judged-labels.json", name).read_text(encoding="utf-8")
        )
        return names

    def tokenizer(self, name: str, texts: Callable[[Example], Iterable[str]]) -> Tokenizer:
        """Read the tokenizer, or learn it from the training part: of a stream, units of a sample, once."""
        parts = self.parts
        kind, _, size = (name or DEFAULT_TOKENIZER).partition(":")
        if not isinstance(parts, TextStream):
            return choose_tokenizer(name, DEFAULT_TOKENIZER, (text for each in parts.train for text in texts(each)))
        if kind not in (*LEARNERS, *LISTS):
            return choose_tokenizer(name, DEFAULT_TOKENIZER, ())
        sample = parts.sample(texts, SAMPLE if kind in LEARNERS else math.inf)  # a list holds all there is

        def learn(path: Path) -> None:
            choose_tokenizer(name, DEFAULT_TOKENIZER, sample).save(path)

        return Tokenizer.load(parts.cached(f"{kind}-{size}.tokenizer.json", learn))

    def columns(self) -> LineColumns | None:
        """Give the columns of the files; None of a stream, and of files that name none."""
        if isinstance(self.parts, TextStream):
            return None
        places: dict[str, list[str]] = {
            part: [str(getattr(each, "place", "")) for each in some] for part, some in self.parts.by_name().items()
        }
        return LineColumns.of_places(places)

    def about(self, what: str, chosen: Tokenizer, *further: str) -> DatasetInfo:
        """Describe the data; their fingerprint is that of the texts, or of a stream's files."""
        parts = self.parts
        if isinstance(parts, TextStream):
            drawn = f"{parts.held_out:.0%} each for validation and test, {MOST:,} at most"
            split = "your own split" if self.given else drawn
            told = f"`{self.name}` holds {parts.bytes / 1e6:,.0f} MB of {what}, {split}."
            return DatasetInfo(self.name, told, fingerprint([*parts.signature, chosen.content, *further]))
        split = "your own split" if self.given else "a tenth each for validation and test"
        told = f"`{self.name}` holds {sum(map(len, parts)):,} {what}, {split}."
        texts = (repr(tuple(example)[:2]) for part in parts for example in part)
        return DatasetInfo(self.name, told, fingerprint([*texts, f"{self.seed}{chosen.content}", *further]))


def packs(wanted: str, spec: ModelSpec, large: bool) -> bool:
    """Tell whether training is packed."""
    if wanted not in ("", "yes", "no"):
        raise DataError(f"pack={wanted!r} is neither yes nor no")
    if spec.reads != "prompt" or wanted == "no" or not (wanted or large):
        return False
    able = _keeps_documents_apart(spec)
    if wanted and not able:
        raise ConfigError(f"pack=yes, and '{spec.name}' does not keep documents of one row apart: leave it out")
    return able


def _keeps_documents_apart(spec: ModelSpec) -> bool:
    """Ask a model without memory."""
    try:
        packs = getattr(zoo.create(spec.name, False, device="meta", **spec.config), "packs", None)
    except ZooError:  # a model that is not made by its name
        return False
    return callable(packs) and bool(packs())
