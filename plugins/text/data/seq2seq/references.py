"""`ReferencesCorpus`: pairs of texts where a source may have several right targets, of which any counts."""

from collections.abc import Iterator, Sequence
from typing import Any

from zoo import ModelSpec
from zoo.data import DatasetInfo, Parts, Written
from zoo.plugins.shared.text.tokenizer import Tokenizer
from zoo.plugins.text.data.parallel_corpus import GeneratedPair, Pair, ParallelCorpus
from zoo.plugins.text.data.text_stream import TextStream


class ReferencesCorpus(ParallelCorpus):
    """Serve pairs, each target of a source as one of its own; sub-classes score each source once.

    Args:
        about: the data.
        spec: of the model.
        tokenizer: of both sides.
        parts: the pairs.
    """

    def __init__(
        self, about: DatasetInfo, spec: ModelSpec, tokenizer: Tokenizer, parts: Parts[Pair] | TextStream[Pair]
    ) -> None:
        super().__init__(about, spec, tokenizer, parts, metric="exact match")
        self.references: dict[str, list[str]] = {}
        """The targets of each source that is evaluated."""
        for pair in (pair for split in ("validation", "test") for pair in self.parts[split]):
            self.references.setdefault(pair.source, []).append(pair.target)

    def references_of(self, pair: Pair) -> tuple[str, ...]:
        """See `ParallelCorpus.references_of`: each different target of the source."""
        return tuple(dict.fromkeys(self.references.get(pair.source, (pair.target,))))

    def written(self, model: Any, split: str, batch_size: int) -> Iterator[Written]:
        """See `WritesTexts.written`: a text for each source, once."""
        seen: set[str] = set()
        for each in super().written(model, split, batch_size):
            if each.source not in seen:
                seen.add(each.source)
                yield each

    def each_once(self, written: Sequence[GeneratedPair]) -> list[GeneratedPair]:
        """Leave out what was written again for the same source."""
        return list({each.pair.source: each for each in reversed(written)}.values())
