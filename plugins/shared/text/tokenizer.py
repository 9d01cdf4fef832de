"""`Tokenizer`: from texts to ids and back, around Hugging Face `tokenizers`."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tokenizers
import torch
from jaxtyping import Bool, Int
from tokenizers.processors import TemplateProcessing
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from zoo import ConfigError, InputError, WeightsError
from zoo.data import RaggedIds, offsets_of, write_text
from zoo.plugins.shared.text import vocabulary
from zoo.plugins.shared.text.word_ids import WordIds, encodes_by_words
from zoo.weights import special_tokens

_PAD = ("[PAD]", "<pad>", "<|pad|>", "<|endoftext|>")
_BOS = ("[CLS]", "<s>", "<bos>", "[BOS]", "<|startoftext|>", "<|begin_of_text|>", "<|endoftext|>")
_EOS = ("[SEP]", "</s>", "<eos>", "[EOS]", "<|end_of_text|>", "<|endoftext|>")
_UNK = ("[UNK]", "<unk>", "<|unk|>", "<|endoftext|>")
_MASK = ("[MASK]", "<mask>")


SPECIAL = "special_tokens_map.json"
"""Hugging Face's name of the file that says which tokens are special."""


class Frame(NamedTuple):
    """Special tokens before and after a text."""

    before: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.before) + len(self.behind)


BARE = Frame()
"""No symbol at all."""


class Tokenizer:
    """Turn texts into ids and back.

    What looks like a symbol in a text, such as `</s>`, is text; only a mask, where the vocabulary has one, is read.

    Args:
        backend: its vocabulary names the symbols as usual, `[PAD]` or `<pad>`, `[CLS]` or `<s>`, … A vocabulary
            without a begin, as T5's, begins with padding; one without padding pads with its end. What it says about
            cutting and padding is not done: `encode` says it.
        special: ids of `pad`, `bos`, `eos`, `unk` and `mask` where they are told; what is none of its tokens is not
            used.

    Raises:
        ConfigError: If the vocabulary has no symbol for the end.
    """

    def __init__(self, backend: tokenizers.Tokenizer, special: Mapping[str, int] = {}) -> None:
        self.backend = backend
        self.special = {name: place for name, place in special.items() if place >= 0 and backend.id_to_token(place)}
        backend.no_truncation()
        backend.no_padding()
        eos = self._find("eos", _EOS)
        if eos is None:
            raise ConfigError(f"a vocabulary without an end: it has none of {', '.join(_EOS)}")
        self.eos = eos
        usual = {"pad": _PAD, "bos": _BOS, "unk": _UNK, "mask": _MASK}
        pad, bos, unk, mask = (self._find(name, names) for name, names in usual.items())
        self.pad = eos if pad is None else pad
        self.bos = self.pad if bos is None else bos
        self.unk = unk
        self.mask = mask
        """Stands for a hidden token; None where the vocabulary has no such symbol."""
        self._mask_text = None if mask is None else backend.id_to_token(mask)
        self.vocab_size = max(backend.get_vocab().values()) + 1
        """One more than the highest id."""
        self.size = self.vocab_size
        """Tokens of the model; those it has besides write nothing."""
        self._bytes = vocabulary.bytes_of(backend)
        added = backend.get_added_tokens_decoder()
        self.symbols = {self.pad, self.bos, self.eos} | {place for place, token in added.items() if token.special}

    @classmethod
    def byte_level(cls) -> "Tokenizer":
        """Make the tokenizer that needs no files: padding 0, begin 1, end 2, unknown 3, byte b at 4 + b."""
        return cls(vocabulary.byte_level())

    @classmethod
    def of_labels(cls, labels: Sequence[str], blank: int = 0) -> "Tokenizer":
        """Make the tokenizer of a CTC vocabulary, which has no begin and no end: the blank is in their place.

        Args:
            labels: what each output of the model writes, `|` between words.
            blank: the label that writes nothing.

        Raises:
            ConfigError: If a label is there twice, or no text.
        """
        return cls(vocabulary.emitted(labels, blank), dict.fromkeys(("pad", "bos", "eos"), blank))

    @property
    def labels(self) -> list[str]:
        """What each output of a CTC model writes; empty for a vocabulary with begin and end."""
        listed = isinstance(self.backend.model, tokenizers.models.WordLevel)
        if not listed or not self.pad == self.bos == self.eos:
            return []
        return [str(self.backend.id_to_token(place)) for place in range(self.vocab_size)]

    @property
    def content(self) -> str:
        """Write down how it cuts texts, for fingerprints; not what stands around them, which is added when saved."""
        whole = json.loads(self.backend.to_str())
        return json.dumps([whole[part] for part in ("normalizer", "pre_tokenizer", "model")])

    @classmethod
    def train(cls, texts: Iterable[str], kind: str = "bpe", vocab_size: int = 8000) -> "Tokenizer":
        """Learn a vocabulary from texts.

        Args:
            texts: what to learn from.
            kind: `bpe`, over bytes, so that every text has tokens, or `wordpiece`.
            vocab_size: tokens at most, with the symbols; few texts give fewer.

        Raises:
            ConfigError: If the kind is unknown or the vocabulary too small.
            InputError: If there are no texts.
        """
        counts = [0, 0]

        def counted() -> Iterator[str]:
            for text in texts:
                counts[bool(text)] += 1
                yield text

        backend = vocabulary.learn(counted(), kind, vocab_size)
        if not counts[True]:
            raise InputError(f"a tokenizer of {counts[False]} texts that are empty: there is nothing to learn from")
        return cls(backend)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "Tokenizer":
        """Read a `tokenizer.json`, and from the files beside it which tokens are special.

        Raises:
            ConfigError: If there is no such file, or it is none.
        """
        if not Path(path).is_file():
            raise ConfigError(f"There is no file {str(path)!r}")
        try:
            backend = tokenizers.Tokenizer.from_file(str(path))
            return cls(backend, special_tokens(f"local-dir:{Path(path).parent}"))
        except ConfigError as error:
            raise ConfigError(f"{str(path)!r} is {error}") from error
        except WeightsError:
            raise
        except Exception as error:  # the library raises no narrower class
            raise ConfigError(f"{str(path)!r} is no tokenizer.json: {error}") from error

    def save(self, path: str | PathLike[str]) -> None:
        """Write a `tokenizer.json`, and beside it which tokens are special, if their names do not say it."""
        write_text(Path(path), self.backend.to_str())
        if self.special:
            names = {f"{name}_token": self.backend.id_to_token(place) for name, place in self.special.items()}
            write_text(Path(path).with_name(SPECIAL), json.dumps(names, indent=2) + "\n")

    @property
    def frame(self) -> Frame:
        """The symbols its own template puts around a text; none where it has no template."""
        if not self.backend.num_special_tokens_to_add(False):
            return BARE
        encoding = self.backend.encode("a")
        inner = [place for place, special in enumerate(encoding.special_tokens_mask) if not special]
        start, stop = (inner[0], inner[-1] + 1) if inner else (1, 1)
        return Frame(tuple(encoding.ids[:start]), tuple(encoding.ids[stop:]))

    def with_frame(self, frame: Frame) -> "Tokenizer":
        """Give the same tokenizer with a template of its own."""
        backend = tokenizers.Tokenizer.from_str(self.backend.to_str())
        before, behind = ([str(backend.id_to_token(place)) for place in side] for side in frame)
        backend.post_processor = TemplateProcessing(
            single=[*before, "$A", *behind],
            special_tokens=list({token: backend.token_to_id(token) for token in before + behind}.items()),
        )
        return Tokenizer(backend, self.special)

    def of_model(self, vocab_size: int | None, where: str) -> "Tokenizer":
        """Give the same tokenizer for a model, whose vocabulary may have more tokens, as those that are filled up have.

        Args:
            vocab_size: of the model, if it is known.
            where: the tokenizer is from, for the error.

        Raises:
            ConfigError: If the model's vocabulary is smaller.
        """
        if vocab_size is not None and vocab_size < self.vocab_size:
            raise ConfigError(
                f"the tokenizer of {where!r} has {self.vocab_size} tokens, more than the model's "
                f"vocab_size={vocab_size}: they are not of one model"
            )
        self.size = max(self.vocab_size, vocab_size or 0)
        return self

    def until_end(self, row: Tensor | Sequence[int]) -> list[int]:
        """Give the ids before the first end; all where there is none."""
        ids: list[int] = row.tolist() if isinstance(row, Tensor) else list(row)
        return ids[: ids.index(self.eos)] if self.eos in ids else ids

    def with_mask(self) -> "Tokenizer":
        """Give the same tokenizer with a symbol for hidden tokens, `<mask>`, if it has none: one token more."""
        if self.mask is not None:
            return self
        backend = tokenizers.Tokenizer.from_str(self.backend.to_str())
        backend.add_special_tokens([_MASK[1]])
        return Tokenizer(backend, self.special)

    def rows(
        self,
        texts: Sequence[str],
        frame: Frame = BARE,
        max_len: int | None = None,
        truncate: bool = False,
        empty: Frame = BARE,
    ) -> list[list[int]]:
        """Give the ids of each text in its frame; see `encode`.

        Args:
            texts: what is read.
            frame: the symbols around each.
            max_len: the most tokens of a row, symbols counted.
            truncate: cut longer texts.
            empty: what stands for a text without tokens, where the frame is bare.

        Raises:
            InputError: As for `encode`.
        """
        return [row for row, _ in self._framed(texts, frame, max_len, truncate, empty)]

    def ragged(self, texts: Sequence[str], frame: Frame = BARE) -> RaggedIds:
        """Give the ids of many texts in one array, for data: 16-bit where the vocabulary allows, else 32-bit.

        A text without tokens is a row of its frame alone.

        Args:
            texts: what is read.
            frame: the symbols around each.

        Raises:
            InputError: If one is no text.
        """
        reads_bytes = self._reads_bytes and not self._has_mask(texts)
        flat, lengths = (_bytes_of if reads_bytes else self._encoded)(texts)
        dtype = np.uint16 if self.vocab_size <= 2**16 else np.uint32
        return framed(RaggedIds.of(flat.astype(dtype, copy=False), offsets_of(lengths)), frame)

    def word_rows(
        self,
        texts: Sequence[str | Sequence[str]],
        frame: Frame = BARE,
        max_len: int | None = None,
        truncate: bool = False,
    ) -> list[tuple[list[int], list[int]]]:
        """Give the ids of each text, and where each of its words begins among them.

        Args:
            texts: each a text, whose words are parted by white space, or its words, which may have spaces.
            frame: the symbols around each.
            max_len: the most tokens of a row, symbols counted.
            truncate: cut longer texts; words that are cut off begin nowhere.

        Raises:
            InputError: As for `encode`, or if a word has no token.
        """
        found = []
        words = [text.split() if isinstance(text, str) else text for text in texts]
        whole = [text if isinstance(text, str) else " ".join(text) for text in texts]
        framed = self._framed(whole, frame, max_len, truncate)
        for text, parts, (row, offsets) in zip(whole, words, framed, strict=True):
            places = [len(frame.before) + place for place in _word_starts(text, parts, offsets, truncate)]
            found.append((row, places))
        return found

    def encode(
        self,
        texts: str | Sequence[str],
        side: str = "right",
        max_len: int | None = None,
        truncate: bool = False,
        bos: bool = False,
        eos: bool = False,
    ) -> tuple[Int[Tensor, "b n"], Int[Tensor, " b"] | Bool[Tensor, "b n"]]:
        """Give the ids of texts, padded, and which are there: lengths, or a mask where padding is on the left.

        Args:
            texts: one or several.
            side: of the padding, `right` or `left`.
            max_len: the most tokens of a row, symbols counted.
            truncate: cut longer texts at their end; the symbol of the end stays.
            bos: begin with the symbol of the begin.
            eos: end with that of the end.

        Raises:
            InputError: If there is no text, one has no tokens at all, or is too long and may not be cut.
            ConfigError: If the side is none.
        """
        frame = Frame((self.bos,) * bos, (self.eos,) * eos)
        texts = [texts] if isinstance(texts, str) else texts
        return pad_rows(self.rows(texts, frame, max_len, truncate), self.pad, side)

    def decode(self, ids: Sequence[int] | Int[Tensor, " n"]) -> str:
        """Give the text of ids; symbols are left out, but what is unknown shows.

        Raises:
            InputError: If an id is no token.
        """
        return self.decode_batch([ids])[0]

    def decode_batch(self, rows: Iterable[Sequence[int] | Int[Tensor, " n"]]) -> list[str]:
        """Give the texts of rows of ids; see `decode`."""
        silent = self.silent
        kept = [
            [place for place in self._checked(row) if place < self.vocab_size and place not in silent] for row in rows
        ]
        if self._bytes:
            return [b"".join(self._bytes.get(place, b"") for place in row).decode(errors="replace") for row in kept]
        return self.backend.decode_batch(kept, skip_special_tokens=False)

    @property
    def silent(self) -> set[int]:
        """Ids that `decode` leaves out."""
        return self.symbols - {self.unk} if self.unk not in (self.pad, self.bos, self.eos) else self.symbols

    def transcripts(self, rows: Iterable[Sequence[int] | Int[Tensor, " n"]]) -> list[str]:
        """Give the texts of whole transcripts: those of CTC labels without spaces at their ends."""
        texts = self.decode_batch(rows)
        return [text.strip() for text in texts] if self.labels else texts

    def names(self, ids: Sequence[int] | Int[Tensor, " n"]) -> list[str]:
        """Give what each id writes alone, its spaces visible, for drawings; what writes nothing alone, its own name.

        Raises:
            InputError: If an id is no token.
        """
        found = []
        for place in self._checked(ids):
            text = "" if place in self.symbols else self.backend.decode([place], skip_special_tokens=False)
            alone = text and "\N{REPLACEMENT CHARACTER}" not in text  # else a byte of several
            found.append(text.replace(" ", "\N{OPEN BOX}") if alone else self.backend.id_to_token(place) or str(place))
        return found

    def _checked(self, row: Sequence[int] | Int[Tensor, " n"]) -> list[int]:
        ids: list[int] = row.tolist() if isinstance(row, Tensor) else list(row)
        wrong = next((place for place in ids if not 0 <= place < self.size), None)
        if wrong is not None:
            raise InputError(f"token {wrong}: the tokenizer has {self.size}, 0 … {self.size - 1}")
        return ids

    def _framed(
        self, texts: Sequence[str], frame: Frame, max_len: int | None, truncate: bool, empty: Frame = BARE
    ) -> Iterator[tuple[list[int], list[tuple[int, int]]]]:
        if not texts:
            raise InputError("an empty batch: there is no text")
        for number, encoding in enumerate(self._encodings(texts)):
            ids, offsets = encoding.ids, encoding.offsets
            around = frame if ids or frame else empty
            if not len(ids) + len(around):
                raise InputError(f"{text_at(texts, number)} ({texts[number]!r}) has no tokens")
            if max_len is not None and len(ids) + len(around) > max_len:
                if not truncate:
                    raise InputError(
                        f"{text_at(texts, number)} of {len(ids) + len(around)} tokens is longer than the {max_len} "
                        "that fit: make it shorter, or cut it in Python by truncate=True"
                    )
                _check_room(around, max_len)
                ids, offsets = ids[: max_len - len(around)], offsets[: max_len - len(around)]
            yield [*around.before, *ids, *around.behind], offsets

    def _encodings(self, texts: Sequence[str]) -> list[tokenizers.Encoding]:
        for text in texts:
            check_text(text)
        return self._each(texts, self._plain.encode_batch)

    def _encoded(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Give ids and lengths of texts; the library's threads share them."""
        for text in texts:
            check_text(text)
        if self._words is not None and not self._has_mask(texts):
            return self._words(texts)
        rows = [encoding.ids for encoding in self._each(texts, self._plain.encode_batch_fast)]
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        return np.fromiter(chain.from_iterable(rows), np.uint32, int(lengths.sum())), lengths

    def _each(
        self, texts: Sequence[str], encode: Callable[..., list[tokenizers.Encoding]]
    ) -> list[tokenizers.Encoding]:
        """Encode texts, in which only a mask is a symbol."""
        found = encode(list(texts), add_special_tokens=False)
        for place, text in enumerate(texts):
            if self._has_mask((text,)):
                found[place] = self.backend.encode(text, add_special_tokens=False)
        return found

    def _has_mask(self, texts: Sequence[str]) -> bool:
        return self._mask_text is not None and any(self._mask_text in text for text in texts)

    @cached_property
    def _plain(self) -> tokenizers.Tokenizer:
        """The same vocabulary, to which what looks like a symbol is text."""
        backend = tokenizers.Tokenizer.from_str(self.backend.to_str())
        backend.encode_special_tokens = True
        return backend

    @cached_property
    def _reads_bytes(self) -> bool:
        return self.content == Tokenizer.byte_level().content

    @cached_property
    def _words(self) -> WordIds | None:
        return WordIds(self._plain) if encodes_by_words(self.backend) else None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made again: of a backend, the library does not send that symbols are text to it."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_plain", "_words")}

    def _find(self, name: str, names: tuple[str, ...]) -> int | None:
        if name in self.special:
            return self.special[name]
        places = (self.backend.token_to_id(name) for name in names)
        return next((place for place in places if place is not None), None)


def _bytes_of(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Give what the vocabulary of bytes gives, many times as fast as the library."""
    whole = _utf8(texts)
    lengths = [len(text) for text in texts]
    if sum(lengths) < len(whole):
        lengths = [len(text.encode()) for text in texts]
    return np.frombuffer(whole, np.uint8).astype(np.uint16) + len(vocabulary.SYMBOLS), np.array(lengths, np.int64)


def _utf8(texts: Sequence[str]) -> bytes:
    try:
        return "".join(texts).encode()
    except (TypeError, UnicodeEncodeError):
        for text in texts:
            check_text(text)
        raise


def framed(rows: RaggedIds, frame: Frame) -> RaggedIds:
    """Put symbols around rows."""
    if not frame:
        return rows
    offsets = rows.offsets + len(frame) * np.arange(len(rows) + 1)
    flat = np.empty(offsets[-1], rows.flat.dtype)
    inner = np.ones(len(flat), bool)
    for place, symbol in [*enumerate(frame.before), *enumerate(frame.behind, -len(frame.behind))]:
        at = (offsets[:-1] if place >= 0 else offsets[1:]) + place
        flat[at], inner[at] = symbol, False
    flat[inner] = rows.flat
    return RaggedIds.of(flat, offsets)


def pad_rows(
    rows: Sequence[Sequence[int]], pad: int, side: str = "right"
) -> tuple[Int[Tensor, "b n"], Int[Tensor, " b"] | Bool[Tensor, "b n"]]:
    """Make one tensor of rows: with lengths, or with a mask where padding is on the left.

    Raises:
        ConfigError: If the side is none.
    """
    if side not in ("right", "left"):
        raise ConfigError(f"side={side!r} of padding is not one of right, left")
    tensors = [torch.tensor(row, dtype=torch.long) for row in rows]
    ids = pad_sequence(tensors, batch_first=True, padding_value=pad, padding_side=side)
    lengths = torch.tensor([len(row) for row in rows])
    if side == "right":
        return ids, lengths
    return ids, torch.arange(ids.shape[1]) >= ids.shape[1] - lengths[:, None]


def _word_starts(text: str, words: Sequence[str], offsets: Sequence[tuple[int, int]], cut: bool) -> Iterator[int]:
    """Find the first token of each word: the first that ends behind where the word starts."""
    place, start = 0, 0
    for word in words:
        start = text.index(word, start)
        while place < len(offsets) and offsets[place][1] <= start:
            place += 1
        if place == len(offsets) or offsets[place][0] >= start + len(word):
            if cut and place == len(offsets):
                return
            raise InputError(f"word {word!r} of text {text!r} has no token")
        yield place
        start += len(word)


def text_at(texts: Sequence[Any], number: int) -> str:
    """Name a text for errors: by its place where there are several."""
    return f"text {number}" if len(texts) > 1 else "the text"


def _check_room(frame: Frame, max_len: int) -> None:
    if max_len <= len(frame):
        raise ConfigError(f"max_len={max_len} leaves no room for a text: its symbols are {len(frame)}")


def check_text(text: object) -> None:
    """Refuse what is no text.

    Raises:
        InputError: If it is of another type, or has half characters.
    """
    if not isinstance(text, str):
        raise InputError(f"{text!r} is no text")
    try:
        text.encode()
    except UnicodeEncodeError as error:  # half a character, as Python makes of bytes that are no UTF-8
        raise InputError(f"{text!r} is no Unicode text: {error}") from error
