"""Vocabularies: the bytes, which need no file; the characters or words of the user's texts; units learned from them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from zoo import ConfigError

SYMBOLS = ("<pad>", "<s>", "</s>", "<unk>")
"""At 0, 1, 2 and 3."""
PIECE_SYMBOLS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")
"""Those of arXiv:1810.04805, in the same order."""


def byte_level() -> tokenizers.Tokenizer:
    """Make the vocabulary of four symbols and 256 bytes: byte b of a text's UTF-8 is token 4 + b."""
    tokens = [*SYMBOLS, *(f"<0x{byte:02X}>" for byte in range(256))]
    vocabulary = {token: place for place, token in enumerate(tokens)}
    backend = tokenizers.Tokenizer(models.BPE(vocab=vocabulary, merges=[], byte_fallback=True, unk_token="<unk>"))
    backend.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    backend.add_special_tokens(list(SYMBOLS))
    return backend


def bytes_of(backend: tokenizers.Tokenizer) -> dict[int, bytes]:
    """Give the bytes of each token of a vocabulary that joins bytes; nothing of one that joins anything else.

    The library's `ByteFallback` reads a run of bytes whole, and one that is no UTF-8 as so many replacement characters:
    of an answer that ends within a character nothing would be left to read.
    """
    if backend.decoder is None or backend.decoder.__getstate__() != byte_level().decoder.__getstate__():
        return {}
    byte = re.compile(r"<0x([0-9A-F]{2})>")
    return {
        place: bytes.fromhex(found[1]) if (found := byte.fullmatch(token)) else token.encode()
        for token, place in backend.get_vocab().items()
    }


def byte_pairs(texts: Iterable[str], vocab_size: int) -> tokenizers.Tokenizer:
    """Learn byte-pair units over bytes (arXiv:1508.07909), so that every text has tokens; each digit is one alone.

    Raises:
        ConfigError: If the vocabulary has no room for the symbols and the bytes.
    """
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    _check_room(vocab_size, len(SYMBOLS) + len(alphabet), f"{len(SYMBOLS)} symbols and {len(alphabet)} bytes")
    backend = tokenizers.Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=list(SYMBOLS), initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator(texts, trainer)
    return backend


def word_pieces(texts: Iterable[str], vocab_size: int) -> tokenizers.Tokenizer:
    """Learn word pieces that keep case, with [CLS] in front and [SEP] behind as in arXiv:1810.04805.

    Raises:
        ConfigError: If the vocabulary has no room for the symbols and one letter.
    """
    _check_room(vocab_size, len(PIECE_SYMBOLS) + 1, f"{len(PIECE_SYMBOLS)} symbols and one letter")
    backend = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.NFC()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(cleanup=False)
    trainer = trainers.WordPieceTrainer(vocab_size=vocab_size, special_tokens=list(PIECE_SYMBOLS), show_progress=False)
    backend.train_from_iterator(texts, trainer)
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return backend


def characters(texts: Iterable[str]) -> tokenizers.Tokenizer:
    """List the characters of some texts, behind four symbols; any other is unknown."""
    found = sorted({character for text in texts for character in text})
    backend = _listed(found)
    backend.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex(r"[\s\S]"), behavior="isolated")
    backend.decoder = decoders.Fuse()
    return backend


def words(texts: Iterable[str]) -> tokenizers.Tokenizer:
    """List the words of some texts, parted by white space, behind four symbols; any other is unknown."""
    backend = _listed(sorted({word for text in texts for word in text.split()}))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return backend


def emitted(labels: Sequence[str], blank: int) -> tokenizers.Tokenizer:
    """List what the outputs of a CTC model write, `|` for a space; the blank stands for what is unknown, too.

    Texts are brought to the case of the labels, where these have one only. Labels of several characters, such as
    phonemes, are found before single ones; those in brackets, such as `<s>`, are in no text.

    Raises:
        ConfigError: If a label is there twice, or no text.
    """
    vocabulary = {label: place for place, label in enumerate(labels)}
    if len(vocabulary) < len(labels) or not all(isinstance(label, str) and label for label in labels):
        twice = sorted({str(label) for label in labels if list(labels).count(label) > 1 or not label})
        raise ConfigError(f"labels={list(labels)!r}: {', '.join(map(repr, twice))} is there twice, or no text")
    unknown = next((label for label in labels if label in (SYMBOLS[3], PIECE_SYMBOLS[3])), labels[blank])
    backend = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token=unknown))
    cases = [(label.swapcase(), label) for label in labels if len(label) == len(label.swapcase()) == 1]
    changes = [(other, label) for other, label in cases if other not in vocabulary]
    changes += [(" ", "|")] if "|" in vocabulary else []
    backend.normalizer = normalizers.Sequence([normalizers.Replace(other, label) for other, label in changes])
    backend.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex(r"[\s\S]"), behavior="isolated")
    backend.decoder = decoders.Sequence([decoders.Replace("|", " "), decoders.Fuse()])
    long = [label for label in labels if len(label) > 1 and not re.fullmatch(r"<.*>|\[.*\]", label)]
    backend.add_tokens([tokenizers.AddedToken(label, normalized=False) for label in long])
    backend.add_special_tokens([labels[blank], unknown])
    return backend


def _listed(tokens: Iterable[str]) -> tokenizers.Tokenizer:
    units = [*SYMBOLS, *(token for token in tokens if token not in SYMBOLS)]
    vocabulary = {token: place for place, token in enumerate(units)}
    backend = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.add_special_tokens(list(SYMBOLS))
    return backend


LISTS: Mapping[str, Callable[[Iterable[str]], tokenizers.Tokenizer]] = {"char": characters, "word": words}
"""Vocabularies that hold what the texts hold, and nothing else."""
LEARNERS: Mapping[str, Callable[[Iterable[str], int], tokenizers.Tokenizer]] = {
    "bpe": byte_pairs,
    "wordpiece": word_pieces,
}


def learn(texts: Iterable[str], kind: str, vocab_size: int) -> tokenizers.Tokenizer:
    """Learn a vocabulary of a kind, `bpe` or `wordpiece`.

    Raises:
        ConfigError: If the kind is neither, or the vocabulary is too small.
    """
    if kind not in LEARNERS:
        raise ConfigError(f"kind={kind!r} of a tokenizer is not one of {', '.join(LEARNERS)}")
    return LEARNERS[kind](texts, vocab_size)


def _check_room(vocab_size: int, least: int, what: str) -> None:
    if vocab_size < least:
        raise ConfigError(f"vocab_size={vocab_size} is less than {least}: {what}")
