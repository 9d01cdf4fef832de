"""`ParallelCorpus`: pairs of texts, for models that write one after reading the other."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import starmap
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from zoo import ConfigError, ModelSpec, WeightsError
from zoo.core import IGNORED, has_own_loss
from zoo.data import Batch, DatasetInfo, Parts, RaggedIds, Written, evaluation_mode, offsets_of, own_loss, token_scores
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer
from zoo.plugins.shared.text.metrics import bleu, exact_match
from zoo.plugins.shared.text.tokenizer import Frame, Tokenizer, pad_rows
from zoo.plugins.text.data.corpus import TextCorpus, check_lengths, symbols_of
from zoo.plugins.text.data.text_stream import TextStream, encoded
from zoo.plugins.text.io.preprocess import frame_of, limit_of
from zoo.weights import fetch, fetch_tokenizer, is_repository

_LONGER = 2
"""Times its input an output may be long, where that is more than the longest target of the training."""


OWN = Path("source", "tokenizer.json")
"""Where in a folder the tokenizer of the sources is."""


class Pair(NamedTuple):
    """Pair of source and target text, and the place in the file they are from."""

    source: str
    target: str
    place: str = ""


class GeneratedPair(NamedTuple):
    """A pair with the text that a model generated, and the reference as the tokenizer decodes it."""

    pair: Pair
    text: str
    wanted: str


class ParallelCorpus(TextCorpus):
    """Serve pairs to an encoder-decoder, or one behind the other, with an end between, to a decoder alone.

    Of a decoder alone, only the target is asked. Its tokenizer is saved with a template that makes a prompt of a
    source. An encoder that has a tokenizer of its own, see `source_tokenizer`, reads the sources by that, which is
    saved in the folder `source`.

    Args:
        about: the data.
        spec: of the model.
        tokenizer: of both sides; of the targets alone where the encoder has its own.
        parts: the pairs.
        metric: `BLEU` or `exact match`.
        units: how BLEU parts texts, see `bleu`.

    Raises:
        ConfigError: If the model writes nothing.
        DataError: If a pair is longer than the model reads.
    """

    task = "generate"

    def __init__(
        self,
        about: DatasetInfo,
        spec: ModelSpec,
        tokenizer: Tokenizer,
        parts: Parts[Pair] | TextStream[Pair],
        metric: str = "BLEU",
        units: str = "13a",
    ) -> None:
        if spec.reads not in ("source", "prompt"):
            raise ConfigError(f"'{about.name}' are pairs of texts, and '{spec.name}' writes none")
        self.alone = spec.reads == "prompt"
        frame = Frame((tokenizer.bos,), (tokenizer.eos,)) if self.alone else frame_of(tokenizer, "source")
        tokenizer = tokenizer.with_frame(frame)
        self.symbols = symbols_of(spec, tokenizer)
        self.metric, self.units = metric, units
        self.best = 100.0 if metric == "BLEU" else 1.0
        own = None if self.alone else source_tokenizer(spec, [] if isinstance(parts, TextStream) else parts.train)
        self.reader = tokenizer
        if own is not None:
            frame = frame_of(own, "encoder")
            self.reader = own.with_frame(frame)
        both, limit = (self.reader, tokenizer), limit_of(spec.config)
        encode = partial(_columns, both=both, frame=frame, limit=limit, alone=self.alone)
        known = tokenizer.content if own is None else f"{self.reader.content} {tokenizer.content}"
        columns = encoded(parts, encode, f"pairs {known} {frame} {limit} {self.alone}")
        self.parts = parts.by_name() if isinstance(parts, Parts) else _texts(columns)
        self.sources = {split: found[0] for split, found in columns.items()}
        self.targets = {split: found[1] for split, found in columns.items()}
        self.source_side: Any = self if own is None else SimpleNamespace(tokenizer=self.reader)
        lengths = {split: torch.maximum(self.sources[split].lengths, self.targets[split].lengths) for split in columns}
        super().__init__(about, spec, tokenizer, lengths)

    def overrides(self) -> dict[str, Any]:
        """Give the keywords for `zoo.create`, the symbols among them where the model takes them."""
        own = {} if self.reader is self.tokenizer else {"source_vocab_size": self.reader.vocab_size}
        return super().overrides() | self.symbols | own

    def save(self, folder: Path) -> None:
        """See `BatchedCorpus.save`; with the tokenizer of the sources, where that is another."""
        super().save(folder)
        if self.reader is not self.tokenizer:
            (folder / OWN.parent).mkdir(exist_ok=True)
            self.reader.save(folder / OWN)

    def examples(self, split: str, places: Sequence[int], generator: torch.Generator | None) -> Batch:
        """Give source, lengths and target shifted; or whole sequences and lengths."""
        sources = [self.sources[split][place] for place in places]
        targets = [self.targets[split][place] for place in places]
        if self.alone:
            whole = [source + target[1:] for source, target in zip(sources, targets, strict=True)]
            targets_alone = [
                [IGNORED] * (len(source) - 1) + target[1:] for source, target in zip(sources, targets, strict=True)
            ]
            return Batch(self._padded([row[:-1] for row in whole]), pad_rows(targets_alone, IGNORED)[0])
        shifted = self._padded([row[:-1] for row in targets])[0]
        read = pad_rows(sources, self.reader.pad)
        return Batch((*read, shifted), pad_rows([row[1:] for row in targets], IGNORED)[0])

    def prompts(self, split: str, places: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Give what a model reads before it writes."""
        rows = [self.sources[split][place] for place in places]
        return pad_rows(rows, self.reader.pad, "left" if self.alone else "right")

    def write(self, model: Any, split: str, batch_size: int) -> list[GeneratedPair]:
        """Let a model write a text for each pair of a part, greedily."""
        return [
            GeneratedPair(self.parts[split][place], text, self._as_decoded(split, place))
            for place, text in self._generated(model, split, batch_size)
        ]

    def written(self, model: Any, split: str, batch_size: int) -> Iterator[Written]:
        """See `WritesTexts.written`."""
        for place, text in self._generated(model, split, batch_size):
            pair = self.parts[split][place]
            yield Written(place, text, self.references_of(pair), pair.source)

    def references_of(self, pair: Pair) -> tuple[str, ...]:
        """Give all targets that are right for the source of a pair."""
        return (pair.target,)

    def _generated(self, model: Any, split: str, batch_size: int) -> Iterator[tuple[int, str]]:
        """Let a model write a text for each pair, given by its index."""
        most = int(self.targets["train"].lengths.max())
        with evaluation_mode(model) as device:
            for places in self.places(split, batch_size):
                ids, valid = self.prompts(split, places)
                limit = _room(model, max(most, _LONGER * ids.shape[1]), ids.shape[1] if self.alone else 0)
                best = model.generate(ids.to(device), valid.to(device), max_len=limit).best()
                yield from zip(places, self.tokenizer.decode_batch(best), strict=True)

    def _as_decoded(self, split: str, place: int) -> str:
        """Give a reference as the tokenizer writes it, which may not know all its characters."""
        return self.tokenizer.decode(self.targets[split][place])

    def metrics_of(self, written: Sequence[GeneratedPair]) -> dict[str, float]:
        """Score what was written; the metric comes first."""
        texts = [each.text for each in written]
        found = {"exact match": exact_match(texts, [each.wanted for each in written])}
        if self.metric == "BLEU":
            return {"BLEU": bleu(texts, [each.pair.target for each in written], self.units)} | found
        return found

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """Score the texts a model writes, and its tokens given the right ones; or its loss, where it has its own."""
        return self.metrics_of(self.write(model, split, batch_size)) | self.token_metrics(model, split, batch_size)

    def token_metrics(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """Score each token given the right ones before it; of a model with a loss of its own, give that."""
        with evaluation_mode(model) as device:
            if has_own_loss(model):
                return {"loss": own_loss(model, self.held_out(split, batch_size), device)}
            tokens = token_scores(model, self.held_out(split, batch_size), device)
        return {"token accuracy": tokens.accuracy, "perplexity": tokens.perplexity}

    def metrics(self, model: nn.Module) -> tuple[str, ...]:
        """Name the scores."""
        tokens = ("loss",) if has_own_loss(model) else ("token accuracy", "perplexity")
        return tuple(dict.fromkeys((self.metric, "exact match"))) + tokens

    def _padded(self, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        return pad_rows(rows, self.tokenizer.pad)


def source_tokenizer(spec: ModelSpec, pairs: Sequence[Pair]) -> Tokenizer | None:
    """Give the tokenizer of an encoder that has its own: that of its folder, or what `source_tokenizer` names.

    Args:
        spec: of the model.
        pairs: of the training, from whose sources one may be learned.

    Raises:
        ConfigError: If the name is none of a tokenizer.
        WeightsError: If the repository that is named has none.
    """
    joined = "source_vocab_size" in spec.config and "hub" in spec.weights
    saved = fetch(spec.weights["hub"], (str(OWN),)) if joined else None
    name = spec.config.get("source_tokenizer") or ""
    if saved is None and name and is_repository(name):
        saved = fetch_tokenizer(name)
        if saved is None:
            raise WeightsError(f"{name!r}, whose encoder reads the sources, has no tokenizer.json")
    if saved is not None:
        return Tokenizer.load(saved)
    return choose_tokenizer(name, name, (pair.source for pair in pairs)) if name else None


def _columns(
    split: str, pairs: Sequence[Pair], both: tuple[Tokenizer, Tokenizer], frame: Frame, limit: int | None, alone: bool
) -> list[RaggedIds]:
    """Give sources and targets, and of what is evaluated, whose texts are compared, their UTF-8."""
    reader, tokenizer = both
    sources = reader.ragged([pair.source for pair in pairs], frame)
    targets = tokenizer.ragged([pair.target for pair in pairs], Frame((tokenizer.bos,), (tokenizer.eos,)))
    left, right = np.diff(sources.offsets), np.diff(targets.offsets)
    if alone:
        check_lengths(left + right - 2, limit, lambda row: (pairs[row].place, pairs[row].source))
    else:
        check_lengths(left, limit, lambda row: (pairs[row].place, pairs[row].source))
        check_lengths(right - 1, limit, lambda row: (pairs[row].place, pairs[row].target))
    if split == "train":
        return [sources, targets]
    return [sources, targets, *(_utf8([pair[side] for pair in pairs]) for side in (0, 1))]


def _utf8(texts: Sequence[str]) -> RaggedIds:
    found = [text.encode() for text in texts]
    return RaggedIds.of(
        np.frombuffer(b"".join(found), np.uint8), offsets_of(np.array([len(text) for text in found], np.int64))
    )


def _texts(columns: Mapping[str, Sequence[RaggedIds]]) -> dict[str, Sequence[Pair]]:
    """Give the pairs that are evaluated, of a stream, which does not hold those of the training."""
    found: dict[str, Sequence[Pair]] = {"train": ()}
    for split in ("validation", "test"):
        sides = ((bytes(side[row]).decode() for row in range(len(side))) for side in columns[split][2:])
        found[split] = list(starmap(Pair, zip(*sides, strict=True)))
    return found


def _room(model: Any, wanted: int, prompt: int) -> int:
    """Write no more than a model has places for."""
    limit = getattr(model, "max_len", None)
    return wanted if limit is None else max(1, min(wanted, limit - prompt))
