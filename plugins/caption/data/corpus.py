"""`CaptionCorpus`: pictures and what was said of them, for models that describe pictures."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import torch
from torch import nn

from zoo import ConfigError, DataError, ModelSpec
from zoo.core import IGNORED, SYMBOLS, Symbols, cross_attention_maps
from zoo.data import Batch, BatchedCorpus, DatasetInfo, Written, evaluation_mode, token_scores
from zoo.plugins.caption.data.pictures import Pictures
from zoo.plugins.caption.data.pointing import Boxes, shares
from zoo.plugins.shared.text.metrics import bleu, exact_match
from zoo.plugins.shared.text.tokenizer import Frame, Tokenizer, pad_rows

UNSEEN = "unseen"
"""A part of some data: pictures of pairs that no training picture shows."""
EXACT, POINTING = "exact match", "pointing"


class Captioned(NamedTuple):
    """A picture and what was said of it.

    Args:
        picture: a path, or the pixels (height, width, channels).
        texts: its captions.
        boxes: of each word of the first caption, the place of what it names; empty if nobody knows.
        place: of the first caption in a file, for errors.
    """

    picture: Any
    texts: tuple[str, ...]
    boxes: Boxes = ()
    place: str = ""


class CaptionCorpus(BatchedCorpus):
    """Serve pictures with captions: in training each caption is an example, in evaluation each picture.

    Args:
        about: the data.
        spec: of the model, which says how pictures are prepared.
        tokenizer: of the captions.
        parts: the pictures of `train`, `validation`, `test`, and perhaps `UNSEEN`, which is scored with the test.
        metric: `exact match` or `BLEU`; any caption of a picture is right.
        known_notes: what the user has to know, such as pictures that are absent.

    Raises:
        ConfigError: If the model writes nothing.
        DataError: If a caption is longer than the model writes.
    """

    task = "generate"
    tokenizer: Tokenizer
    units = "13a"

    def __init__(
        self,
        about: DatasetInfo,
        spec: ModelSpec,
        tokenizer: Tokenizer,
        parts: Mapping[str, Sequence[Captioned]],
        *,
        metric: str = "BLEU",
        known_notes: tuple[str, ...] = (),
    ) -> None:
        if spec.task != self.task:
            raise ConfigError(f"'{about.name}' are pictures with captions, and '{spec.name}' writes none")
        self.parts, self.known_notes = parts, known_notes
        self.tokenizer, self.metric = tokenizer, metric
        self.best = 100.0 if metric == "BLEU" else 1.0
        self.pictures = {split: Pictures([each.picture for each in part], spec) for split, part in parts.items()}
        self.index = {split: _examples(part, every=split == "train") for split, part in parts.items()}
        self.targets = {split: self._encoded(split) for split in parts}
        lengths = {split: torch.tensor([len(row) for row in rows]) for split, rows in self.targets.items()}
        super().__init__(about, spec, lengths)
        self.sizes = {split: len(rows) for split, rows in self.targets.items()}

    @property
    def reads_files(self) -> bool:
        """Whether pictures are read from files when they are needed."""
        return self.pictures["train"].on_disk

    @property
    def notes(self) -> tuple[str, ...]:
        """Tell what the user has to know: pictures that are absent, or could not be read so far."""
        found = (note for pictures in self.pictures.values() for note in pictures.notes())
        return (*self.known_notes, *found)

    def overrides(self) -> dict[str, Any]:
        """Give the keywords for `zoo.create`, the symbols among them where they are not the usual ones."""
        symbols = Symbols(self.tokenizer.pad, self.tokenizer.bos, self.tokenizer.eos)
        usual = symbols == SYMBOLS and "symbols" not in self.spec.config
        return super().overrides() | ({} if usual else {"symbols": list(symbols)})

    def examples(self, split: str, places: Sequence[int], generator: torch.Generator | None) -> Batch:
        """Give pictures and their captions so far; no target is asked of a picture that cannot be read."""
        images, known = self.pictures[split].read([self.index[split][place][0] for place in places])
        rows = [self.targets[split][place] for place in places]
        ids, _ = pad_rows([row[:-1] for row in rows], self.tokenizer.pad)
        target, _ = pad_rows([row[1:] for row in rows], IGNORED)
        return Batch((images, ids), target.masked_fill(~known[:, None], IGNORED))

    def write(self, model: Any, split: str, batch_size: int) -> list[tuple[Captioned, str]]:
        """Let a model describe each picture of a part, greedily."""
        return [(self.parts[split][each.place], each.text) for each in self.written(model, split, batch_size)]

    def written(self, model: Any, split: str, batch_size: int) -> Iterator[Written]:
        """See `WritesTexts.written`."""
        most = int(self.lengths["train"].max())
        limit = getattr(model, "max_len", None)
        with evaluation_mode(model) as device:
            for places in self.places(split, batch_size):
                images, known = self.pictures[split].read(places)
                best = model.generate(images.to(device), max_len=most if limit is None else min(most, limit)).best()
                texts = self.tokenizer.decode_batch(best)
                for place, text, there in zip(places, texts, known, strict=True):
                    if there:
                        yield Written(place, text, self.parts[split][place].texts)

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """Score what a model writes, where it looks while it does, and its tokens given the right ones before them."""
        found = self.judged(model, split, batch_size)
        with evaluation_mode(model) as device:
            tokens = token_scores(model, self.held_out(split, batch_size), device)
        found |= {"token accuracy": tokens.accuracy, "perplexity": tokens.perplexity}
        if split == "test" and UNSEEN in self.parts:
            apart = self.judged(model, UNSEEN, batch_size)
            found |= {f"{name} of unseen pairs": score for name, score in apart.items()}
        return found

    def judged(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """Give exact match, BLEU and, where places are known, the pointing score of a part; the metric comes first.

        Raises:
            DataError: If no picture can be read.
        """
        pairs = self.write(model, split, batch_size)
        if not pairs:
            raise DataError(f"{self.name}: no picture of {split} can be read")
        texts, wanted = [text for _, text in pairs], [item.texts for item, _ in pairs]
        found = {EXACT: exact_match(texts, wanted), "BLEU": bleu(texts, wanted, "13a")}
        found = {self.metric: found[self.metric]} | found
        if self.parts[split][0].boxes and hasattr(getattr(model, "stem", None), "grid"):
            found[POINTING] = self.pointing(model, split, batch_size)
        return found

    def pointing(self, model: nn.Module, split: str, batch_size: int) -> float:
        """Give the share of attention on the thing while a word that names it is written, the mean of such words."""
        found: list[float] = []
        with evaluation_mode(model) as device:
            for places in self.places(split, batch_size):
                images, ids = (each.to(device) for each in self.examples(split, places, None).inputs)
                maps = cross_attention_maps(model, images, ids)
                grid = model.stem.grid(images)  # type: ignore[operator, union-attr]
                found += shares(maps, [self.boxes(split, place) for place in places], grid).tolist()
        return fmean(found)

    def boxes(self, split: str, place: int) -> Boxes:
        """Give of each token of a caption that is written, the place of what its word names; END names nothing."""
        item, at = self.index[split][place]
        held = self.parts[split][item]
        ((row, begins),) = self.tokenizer.word_rows([held.texts[at]], self._frame)
        found: list[Any] = [None] * (len(row) - 1)
        ends = [*begins[1:], len(row) - 1]
        for begin, end, box in zip(begins, ends, held.boxes, strict=True):
            found[begin - 1 : end - 1] = [box] * (end - begin)  # row q writes the token behind the q-th
        return found

    def metrics(self, model: nn.Module) -> tuple[str, ...]:
        """Name the scores of a validation."""
        return tuple(dict.fromkeys((self.metric, EXACT, "BLEU", "token accuracy", "perplexity")))

    @property
    def _frame(self) -> Frame:
        return Frame((self.tokenizer.bos,), (self.tokenizer.eos,))

    def _encoded(self, split: str) -> list[list[int]]:
        """Give the tokens of the captions of a part, from begin to end."""
        captions = [(self.parts[split][item], at) for item, at in self.index[split]]
        rows = self.tokenizer.ragged([item.texts[at] for item, at in captions], self._frame)
        return [rows[place] for place in range(len(rows))]


def _examples(part: Sequence[Captioned], every: bool) -> list[tuple[int, int]]:
    """Give picture and caption of each example: all captions, or the first of each picture."""
    return [(item, at) for item, held in enumerate(part) for at in range(len(held.texts) if every else 1)]
