"""From texts to the inputs of a model: `Preprocess`, and the tokenizer that lies beside its weights."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, cast

from torch import Tensor

from zoo import InputError, Reads, WeightsError
from zoo.data import is_pair
from zoo.plugins.shared.text.tokenizer import BARE, Frame, Tokenizer, pad_rows
from zoo.plugins.text.io.pair_rows import pair_rows
from zoo.weights import fetch_tokenizer, has_bytes


class Preprocess:
    """Turn a text, or a list of them, into a batch of model inputs.

    Args:
        config: of the model; `repository` says where its tokenizer.json lies, or `default` where that of its published
            weights does, which is fetched when it is needed; without both bytes are read.
        form: what the text is to the model.
        pairs: whether the model reads pairs of texts, too: a pair is a tuple in a list, and gives segments.

    Raises:
        ConfigError: If the tokenizer's vocabulary is larger than the model's.
    """

    def __init__(self, config: Mapping[str, Any], form: Reads, pairs: bool = False) -> None:
        self.config = dict(config)
        self.form, self.pairs = form, pairs
        self.max_len = limit_of(config)
        if "repository" in config or "default" not in config:
            self.tokenizer  # noqa: B018  a vocabulary that does not fit is refused at once

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the model's weights."""
        return tokenizer_of(self.config)

    @property
    def frame(self) -> Frame:
        """The symbols around a text."""
        return frame_of(self.tokenizer, self.form)

    def __call__(
        self, texts: str | Sequence[str | tuple[str, str]], max_len: int | None = None, truncate: bool = False
    ) -> tuple[Tensor, ...]:
        """Give ids and which of them are there; where there are pairs, which text each token is of.

        Args:
            texts: one or several; one makes a batch of one. A tuple in a list is a pair.
            max_len: the most tokens, the model's own without.
            truncate: cut what is longer.

        Raises:
            InputError: If there is no text, one has no tokens, or is too long.
        """
        texts = [texts] if isinstance(texts, str) else texts
        empty = Frame((self.tokenizer.bos,)) if self.form == "prompt" else BARE
        most = self.max_len if max_len is None else max_len
        if isinstance(texts, list) and any(map(is_pair, texts)):
            if not self.pairs or truncate:
                raise InputError(
                    f"a pair of texts {'to cut' if truncate else 'of a model that reads one'}: {texts[0]!r}"
                )
            return pair_rows(self.tokenizer, texts, self.frame, most)
        rows = self.tokenizer.rows(cast(Sequence[str], texts), self.frame, most, truncate, empty)
        return pad_rows(rows, self.tokenizer.pad, "left" if self.form == "prompt" else "right")

    def portable(self) -> dict[str, Any]:
        """Describe the steps behind the tokenizer as JSON values, for exported models."""
        before, behind = map(list, self.frame)
        empty = [self.tokenizer.bos] if self.form == "prompt" else []
        return {"kind": "text", "before": before, "behind": behind, "empty": empty, "max_len": self.max_len}

    def __repr__(self) -> str:
        where = self.config.get("repository") or self.config.get("default") or "bytes"
        return f"Preprocess({self.form}, {where})"


def frame_of(tokenizer: Tokenizer, form: Reads) -> Frame:
    """Give the symbols around a text: those of the tokenizer's own template, or what the form needs.

    An encoder reads begin and end, an encoder-decoder's source has an end (arXiv:1706.03762), a prompt a begin, unless
    the vocabulary has one symbol for begin and end, as that of GPT-2, whose prompts are bare.
    """
    if tokenizer.frame:
        return tokenizer.frame
    if form == "prompt":
        return Frame(() if tokenizer.bos == tokenizer.eos else (tokenizer.bos,))
    return Frame((tokenizer.bos,) if form == "encoder" else (), (tokenizer.eos,))


def tokenizer_of(config: Mapping[str, Any]) -> Tokenizer:
    """Give the tokenizer of a model's weights, or of bytes where none are named, or they need no file.

    Raises:
        WeightsError: If the weights come without a tokenizer.
        ConfigError: If its vocabulary is larger than the model's.
    """
    where, wanted = config.get("repository") or config.get("default"), config.get("vocab_size")
    if not where:
        return Tokenizer.byte_level().of_model(wanted, "bytes")
    path = fetch_tokenizer(where)
    if path is None and has_bytes(where, wanted):
        return Tokenizer.byte_level().of_model(wanted, where)
    if path is None:
        raise WeightsError(
            f"{where!r} has no tokenizer.json, without which no text is read, whatever the weights: put that of its "
            "vocabulary beside config.json; `zoo explore` and `zoo attention` take a random input where none is given"
        )
    return Tokenizer.load(path).of_model(wanted, where)


def limit_of(config: Mapping[str, Any]) -> int | None:
    """Give the most tokens a model reads: those whose positions it learned; any number where it learned none."""
    return config.get("max_len") if config.get("position") == "learned" else None
