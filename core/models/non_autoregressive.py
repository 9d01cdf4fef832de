"""`NonAutoregressive`, models whose decoder gives all tokens of an answer at once: arXiv:1711.02281."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import pad

from zoo.core.errors import ConfigError, InputError
from zoo.core.generation.length_prediction import Length, counts
from zoo.core.generation.loop import Generated, ended
from zoo.core.generation.stepping import evaluating
from zoo.core.layers.heads import NextToken
from zoo.core.losses.loss import IGNORED, cross_entropy
from zoo.core.models.model import Composition, SourceTarget, source_and_ids
from zoo.core.ops.autocast import precise
from zoo.core.patterns.front import front_order, vectors_at
from zoo.core.patterns.padding import Lengths
from zoo.core.special_tokens import SYMBOLS, Symbols
from zoo.core.tokens import Tokens, rows


class NonAutoregressive(Composition):
    """Compose a model whose decoder starts from copies of the source and writes every token at once.

    The source's vectors are copied evenly over the places (arXiv:1711.02281 sec. 3.1, without fertilities), which read
    each other in both directions, and the encoder's vectors. We leave out its second attention to positions.

    Inputs are the source's, then the answer's ids as a `Generator` is given them: they begin with the begin. Only their
    number matters, which is that of the places, as the answer ends with the end.

    Args:
        stem: the source's raw input to `Tokens`.
        encoder: `Tokens` to `Tokens` that the decoder reads.
        decoder: `Tokens` to `Tokens`, each reading all others.
        head: `Tokens` to a score for each token.
        length: how many places there are.
        position: what is added to the copies, made by `position_encoding`; None for nothing but what the stem added.
        symbols: padding, begin and end.
        max_len: the most tokens it can write, the end counted; None for any number.

    Raises:
        ConfigError: If padding cannot be told from begin and end.
    """

    label_smoothing: float | None = None
    """What a training takes where nobody says; None for its own choice."""

    def __init__(
        self,
        stem: nn.Module,
        encoder: nn.Module,
        decoder: nn.Module,
        head: nn.Module,
        length: Length,
        *,
        position: nn.Module | None = None,
        symbols: Symbols = SYMBOLS,
        max_len: int | None = None,
    ) -> None:
        super().__init__()
        if symbols.pad in (symbols.bos, symbols.eos):
            raise ConfigError(f"{symbols}: the places of an answer are counted, so its padding is no other symbol")
        self.stem = stem
        self.encoder = encoder
        self.decoder: Any = decoder
        self.head = head
        self.length = length
        self.position: Any = position
        self.symbols = symbols
        self.max_len = max_len

    def behind(self, source: nn.Module) -> "NonAutoregressive":
        """See `Composition.behind`; what is copied over the places are the vectors that the source gives."""
        untie(self.head)
        found = NonAutoregressive(
            source,
            nn.Identity(),
            self.decoder,
            self.head,
            self.length,
            position=self.position,
            symbols=self.symbols,
            max_len=self.max_len,
        )
        found.label_smoothing = self.label_smoothing
        return found

    def split(self, inputs: tuple[Any, ...]) -> SourceTarget:
        """Split the inputs: the last are the target's ids.

        Raises:
            InputError: If there are no inputs for source or target.
        """
        return source_and_ids(inputs)

    def input_names(self) -> list[str]:
        """See `Composition.input_names`; the target is the last."""
        return [*super().input_names(), "target"]

    def last_stack(self, *inputs: Any) -> tuple[Any, tuple[Any, ...]]:
        """Give the decoder; copies of the source, from which it starts; and the encoder's vectors."""
        source, (ids,) = self.split(inputs)
        tokens = self.stem(*source)
        encoded = self.context(tokens)
        target_lengths = (ids != self.symbols.pad).sum(1)
        return self.decoder, (self.copies(tokens, self.teacher_forced(encoded, target_lengths)), encoded)

    def teacher_forced(self, encoded: Tokens, target_lengths: Int[Tensor, " b"]) -> Int[Tensor, " b"]:
        """Count the decoder positions of each row for teacher forcing with answers of known length.

        Raises:
            InputError: If there is no room for an answer.
        """
        places = self.length.teacher_forced(encoded, target_lengths)
        if self.max_len is None:
            return places
        if int(target_lengths.max()) > self.max_len:
            raise InputError(
                f"an answer of {int(target_lengths.max())} tokens: the model writes at most {self.max_len}"
            )
        return places.clamp(max=self.max_len)

    def copies(self, source: Tokens, places: Int[Tensor, " b"], n: int | None = None) -> Tokens:
        """Copy a source's vectors evenly over places: place t of T gets vector ⌊t s / T⌋ of s.

        Args:
            source: its vectors.
            places: T of each row.
            n: T of the longest row, where it is known; counted if None.
        """
        n = int(places.max()) if n is None else n
        t = torch.arange(n, device=source.x.device)
        index = t * counts(source)[:, None] // places[:, None].clamp(min=1)
        index = index.clamp(max=source.x.shape[1] - 1)  # behind a row's last place there is padding
        valid = source.valid()
        if valid is not None:  # the vectors that are there may stand anywhere
            index = front_order(valid).gather(1, index)
        x = vectors_at(source.without_padding().x, index)
        if self.position is not None:
            x = x + self.position((n,)).to(x.dtype)
        return Tokens(x, None, Lengths(places))

    def training_loss(
        self, inputs: tuple[Any, ...], target: Int[Tensor, "b n"], smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """Give the loss of the tokens plus that of the length.

        Args:
            inputs: as for the model.
            target: the right token of each place, the end behind the last, -100 behind it.
            smoothing: share of the right token that is spread over all.
        """
        source = self.stem(*self.split(inputs).source)
        encoded = self.context(source)
        target_lengths = (target != IGNORED).sum(1)
        places = self.teacher_forced(encoded, target_lengths)
        scores = self.head(self.decoder(self.copies(source, places), encoded))
        wanted = fitted(target, scores.shape[1], IGNORED)
        t = torch.arange(scores.shape[1], device=target.device)
        behind = (t >= target_lengths[:, None]) & (t < places[:, None])
        tokens = cross_entropy(scores, wanted.masked_fill(behind, self.symbols.eos), smoothing)
        return tokens + self.length.loss(encoded, target_lengths)

    def with_answer(self, *inputs: Any, max_len: int | None = None) -> tuple[Any, ...]:
        found = self.generate(*inputs, max_len=max_len)
        ids, rows = found.read(self.symbols), (found.ids != self.symbols.eos).all(-1)[:, 0].nonzero()[:, 0]
        ids[rows, found.lengths[rows, 0]] = self.symbols.pad  # there is no place for an end behind a last token
        return *inputs, ids[:, : max(1, int((ids != self.symbols.pad).sum(1).max()))]

    def generate(self, *source: Any, max_len: int | None = None, candidates: int = 1, **others: Any) -> Generated:
        """Write all places at once, in evaluation mode and without gradients, up to the first end.

        Args:
            source: the source's inputs.
            max_len: most tokens, the end counted; None for as many as `length` says.
            candidates: lengths to try; the answer with the best mean log-probability is taken, arXiv:1904.09324
                sec. 3.3.
            others: none; keywords that only a `Generator` takes raise an error that names them.

        Returns:
            One answer for each row; its score is the mean log-probability of its tokens, the end counted.

        Raises:
            ConfigError: If a number is below 1, there are not so many candidates, or another keyword is given.
            InputError: If there is no row.
        """
        for name, value in others.items():
            raise ConfigError(
                f"{name}={value} of a model that writes all places at once: it takes max_len and candidates"
            )
        for name, value in (("max_len", max_len), ("candidates", candidates)):
            if value is not None and value < 1:
                raise ConfigError(f"{name}={value} is below 1")
        with evaluating(self.modules()):
            tokens = self.stem(*source)
            encoded = self.context(tokens)
            b = len(tokens.x)
            if not b:
                raise InputError("a source of 0 rows: there is nothing to answer")
            places = self.length.propose(encoded, candidates).flatten()
            for most in (max_len, self.max_len):
                places = places if most is None else places.clamp(max=most)
            each = torch.arange(b, device=places.device).repeat_interleave(candidates)
            scores = self.head(self.decoder(self.copies(rows(tokens, each), places), rows(encoded, each)))
            return best_of(precise(scores), places, b, self.symbols)

    def _fitted(self, x: Tensor, inputs: tuple[Any, ...]) -> Tensor:
        return fitted(x, inputs[-1].shape[1])


def untie(head: nn.Module) -> None:
    """Let a head keep the embedding's weights as its own, where the embedding goes."""
    if isinstance(head, NextToken):
        head.keep_weights()


def best_of(
    scores: Float[Tensor, "rows n vocab"], places: Int[Tensor, " rows"], batch: int, symbols: Symbols
) -> Generated:
    """Take the likeliest tokens up to the first end, and of each row's candidates the one that is likeliest."""
    best, ids = scores.max(-1)
    t = torch.arange(ids.shape[1], device=ids.device)
    ends = (ids == symbols.eos) & (t < places[:, None])
    count = torch.where(ends.any(1), ends.int().argmax(1) + 1, places)
    valid = t < count[:, None]
    ids = ids.masked_fill(~valid, symbols.pad)
    chance = (best - scores.logsumexp(-1)).masked_fill(~valid, 0).sum(1) / count
    chosen = chance.view(batch, -1).max(1).indices
    chosen = chosen + torch.arange(batch, device=ids.device) * (len(ids) // batch)
    ids, count = ids[chosen], count[chosen]
    lengths = count - ended(ids, count, symbols)
    return Generated(ids[:, None, : int(count.max())], lengths[:, None], chance[chosen][:, None])


def fitted(x: Tensor, n: int, value: int = 0) -> Tensor:
    """Cut or pad along the second axis to n."""
    x = x[:, :n]
    missing = (0, 0) * (x.ndim - 2) + (0, n - x.shape[1])
    return pad(x, missing, value=value)
