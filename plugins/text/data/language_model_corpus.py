"""Corpora of texts alone: `LinesCorpus` asks for the next token, `MaskedCorpus` for tokens that are hidden."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from zoo import ConfigError, ModelSpec
from zoo.core import IGNORED
from zoo.data import Batch, DatasetInfo, Parts, RaggedIds, evaluation_mode, token_scores
from zoo.plugins.shared.text.tokenizer import Frame, Tokenizer, framed, pad_rows
from zoo.plugins.text.data.corpus import TextCorpus, symbols_of
from zoo.plugins.text.data.packed_rows import PackedRows, cut
from zoo.plugins.text.data.text_stream import TextStream, encoded
from zoo.plugins.text.io.preprocess import frame_of

_HIDDEN, _MASKED, _RANDOM = 0.15, 0.8, 0.1
"""Shares of the tokens that are asked for, and of those that show a mask or a random token, arXiv:1810.04805 A.1."""
_ROW = 512
"""Tokens of a packed row for a model without a length."""
_ENDLESS = 2**31
_SEEDS = {"validation": 1, "test": 2}


class Line(NamedTuple):
    """Hold a text, and where it is from."""

    text: str
    place: str = ""


class _Texts(TextCorpus):
    """Score what both corpora ask."""

    metric = "-perplexity"

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """Give the negative perplexity of the tokens that are asked for, and how many the model ranks first."""
        with evaluation_mode(model) as device:
            found = token_scores(model, self.held_out(split, batch_size), device)
        return {"-perplexity": -found.perplexity, "token accuracy": found.accuracy}

    def metrics(self, model: nn.Module) -> tuple[str, ...]:
        """Name the scores."""
        return ("-perplexity", "token accuracy")


class LinesCorpus(_Texts):
    """Serve texts to a decoder alone, from begin to end; longer ones than it reads follow in pieces.

    Packed, the texts of the training stand one after another in rows without padding, and do not read each other, see
    `PackedRows`. Validation and test always have one text in a row, so that their scores do not depend on packing.

    Args:
        about: the data.
        spec: of the model.
        tokenizer: of the texts.
        parts: the texts.
        pack: whether training is packed, for a model that keeps documents apart.

    Raises:
        ConfigError: If the model is no decoder alone.
    """

    task = "generate"

    def __init__(
        self,
        about: DatasetInfo,
        spec: ModelSpec,
        tokenizer: Tokenizer,
        parts: Parts[Line] | TextStream[Line],
        pack: bool = False,
    ) -> None:
        if spec.reads != "prompt":
            raise ConfigError(f"'{about.name}' are lines of text to continue, and '{spec.name}' is no decoder alone")
        tokenizer = tokenizer.with_frame(Frame((tokenizer.bos,)))
        self.symbols = symbols_of(spec, tokenizer)
        frame, length = Frame((tokenizer.bos,), (tokenizer.eos,)), spec.config.get("max_len")

        def encode(split: str, lines: Sequence[Line]) -> list[RaggedIds]:
            whole = tokenizer.ragged([line.text for line in lines], frame)
            return [whole if not length or (pack and split == "train") else cut(whole, length, overlap=1)]

        columns = encoded(parts, encode, f"lines {tokenizer.content} {frame} {length} {pack}")
        self.rows = {split: rows for split, (rows,) in columns.items()}
        self.packed = PackedRows(self.rows["train"], length or _ROW) if pack else None
        lengths = {split: rows.lengths for split, rows in self.rows.items()}
        if self.packed is not None:
            lengths["train"] = self.packed.lengths
        super().__init__(about, spec, tokenizer, lengths)

    def overrides(self) -> dict[str, Any]:
        """Give the keywords for `zoo.create`, the symbols among them where the model takes them."""
        return super().overrides() | self.symbols

    def examples(self, split: str, places: Sequence[int], generator: torch.Generator | None) -> Batch:
        """Give texts without their last token, and without their first; packed, with the text of each token."""
        if split == "train" and self.packed is not None:
            return self.packed.batch(places, self.tokenizer.pad)
        rows = [self.rows[split][place] for place in places]
        inputs = pad_rows([row[:-1] for row in rows], self.tokenizer.pad)
        return Batch(inputs, pad_rows([row[1:] for row in rows], IGNORED)[0])


class MaskedCorpus(_Texts):
    """Serve texts with hidden tokens to an encoder; longer ones than it reads follow in pieces.

    Training hides others each time, validation and test always the same.

    Args:
        about: the data.
        spec: of the model.
        tokenizer: of the texts; it gets a mask if it has none.
        parts: the texts.

    Raises:
        ConfigError: If the model is no encoder.
    """

    task = "masked-token"

    def __init__(
        self, about: DatasetInfo, spec: ModelSpec, tokenizer: Tokenizer, parts: Parts[Line] | TextStream[Line]
    ) -> None:
        if spec.reads != "encoder":
            raise ConfigError(f"'{about.name}' are lines of text with gaps, and '{spec.name}' is no encoder")
        frame, length = frame_of(tokenizer, "encoder"), spec.config.get("max_len")
        tokenizer = tokenizer.with_frame(frame).with_mask()

        def encode(split: str, lines: Sequence[Line]) -> list[RaggedIds]:
            whole = tokenizer.ragged([line.text for line in lines])
            return [framed(cut(whole, (length or _ENDLESS) - len(frame)), frame)]

        columns = encoded(parts, encode, f"masked {tokenizer.content} {frame} {tokenizer.mask} {length}")
        self.rows = {split: rows for split, (rows,) in columns.items()}
        assert tokenizer.mask is not None
        self.hidden = tokenizer.mask
        self.words = torch.tensor([place for place in range(tokenizer.vocab_size) if place not in tokenizer.symbols])
        super().__init__(about, spec, tokenizer, {split: rows.lengths for split, rows in self.rows.items()})

    def examples(self, split: str, places: Sequence[int], generator: torch.Generator | None) -> Batch:
        """Give texts with hidden tokens, lengths, and the hidden tokens."""
        if generator is None:
            generator = torch.Generator().manual_seed(_SEEDS.get(split, 0) + 1000 * places[0])
        ids, lengths = pad_rows([self.rows[split][place] for place in places], self.tokenizer.pad)
        hidden = choose(torch.isin(ids, self.words), generator)
        shown = self._masked(ids, hidden, generator)
        return Batch((shown, lengths), torch.where(hidden, ids, IGNORED))

    def _masked(
        self, ids: Int[Tensor, "b n"], hidden: Bool[Tensor, "b n"], generator: torch.Generator
    ) -> Int[Tensor, "b n"]:
        chance = torch.rand(ids.shape, generator=generator)
        random = self.words[torch.randint(len(self.words), ids.shape, generator=generator)]
        shown = torch.where(hidden & (chance < _MASKED), self.hidden, ids)
        return torch.where(hidden & (chance >= _MASKED) & (chance < _MASKED + _RANDOM), random, shown)


def choose(allowed: Bool[Tensor, "b n"], generator: torch.Generator) -> Bool[Tensor, "b n"]:
    """Choose 15 in 100 of the places that are allowed, and at least one of each row that has any."""
    chance = torch.rand(allowed.shape, generator=generator).masked_fill(~allowed, 2.0)
    first = torch.zeros_like(allowed).scatter_(1, chance.argmin(1, keepdim=True), True)
    return allowed & ((chance < _HIDDEN) | first)
