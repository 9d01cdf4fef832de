"""The source `phonemes`: words with their pronunciations (grapheme to phoneme), from espeak-ng or the user's table."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from torch import nn

from zoo import DataError, ModelSpec
from zoo.data import DatasetInfo, Parts, cached_file, fingerprint, parse, write_text
from zoo.plugins.shared.text import espeak
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer
from zoo.plugins.shared.text.metrics import edit_distance
from zoo.plugins.shared.text.tokenizer import Tokenizer
from zoo.plugins.text.data.file_readers import read_lines, read_table
from zoo.plugins.text.data.open_files import read_examples
from zoo.plugins.text.data.parallel_corpus import GeneratedPair, Pair
from zoo.plugins.text.data.seq2seq.references import ReferencesCorpus
from zoo.plugins.text.data.synthetic.spelling import draw_words
from zoo.plugins.text.data.synthetic.tasks import in_parts
from zoo.plugins.text.data.text_files import ending, lines
from zoo.plugins.text.data.text_stream import TextStream

SIZES = (20_000, 500, 1000)
"""Words of training, validation and test that are drawn."""
LANGUAGE = "en-us"
_STRESS = re.compile("[ˈˌ]|(?<=[A-Z])[012]$")
"""Marks of stress: those of the International Phonetic Alphabet, and the digits of ARPAbet."""
_VARIANT = re.compile(r"\(\d+\)$")
"""How CMUdict marks a further pronunciation of a word."""


class PronunciationCorpus(ReferencesCorpus):
    """Serve words with their phonemes, scored by phoneme error rate on words that were not trained on.

    The error rate is the edit distance over the phonemes of the reference; of several pronunciations of a word the
    nearest counts (arXiv:1506.00196 sec. 4.1). A phoneme with another stress is wrong; a second rate leaves stress out.

    Args:
        about: the data.
        spec: of the model.
        tokenizer: of letters and phonemes.
        parts: words, and phonemes with a space between; where no text has a space each character is one.
    """

    def __init__(
        self, about: DatasetInfo, spec: ModelSpec, tokenizer: Tokenizer, parts: Parts[Pair] | TextStream[Pair]
    ) -> None:
        super().__init__(about, spec, tokenizer, parts)
        self.metric, self.best = "-phoneme error rate", 0.0
        targets = [target for each in self.references.values() for target in each]
        self._split: Callable[[str], Sequence[str]] = str.split if any(" " in target for target in targets) else list

    def metrics_of(self, written: Sequence[GeneratedPair]) -> dict[str, float]:
        """Give the error rates, turned round, and the share of words without an error."""
        once = self.each_once(written)
        found = [self._nearest(each, plain=False) for each in once]
        plain = [self._nearest(each, plain=True) for each in once]
        return {
            "-phoneme error rate": -_rate(found),
            "-phoneme error rate without stress": -_rate(plain),
            "exact match": sum(edits == 0 for edits, _ in found) / len(found),
        }

    def metrics(self, model: nn.Module) -> tuple[str, ...]:
        """Name the scores."""
        return ("-phoneme error rate", "-phoneme error rate without stress", *super().metrics(model)[1:])

    def _nearest(self, each: GeneratedPair, plain: bool) -> tuple[int, int]:
        """Give the edits to the nearest pronunciation, and its phonemes."""
        written = self._phonemes(each.text, plain)
        wanted = (self._phonemes(target, plain) for target in self.references[each.pair.source])
        return min((edit_distance(written, other), len(other)) for other in wanted)

    def _phonemes(self, text: str, plain: bool) -> list[str]:
        found = list(self._split(text))
        return [kept for each in found if (kept := _STRESS.sub("", each))] if plain else found


def open_phonemes(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> PronunciationCorpus:
    """Open drawn words with the phonemes of espeak-ng, or a file: a table of both, CMUdict, or a list of words.

    A `.tsv` or `.csv` has the columns word and phonemes, a `.dict` lines as CMUdict has; a file of words (`.txt`, or
    without an ending) is pronounced by espeak-ng. `?language=de` is the language of espeak-ng.

    Raises:
        DataError: If a file cannot be read, or espeak-ng is needed and not there.
    """
    place, options = parse(argument, ("language", "word", "phonemes"))
    language = options.get("language", LANGUAGE)
    if not place:
        parts = in_parts(list(pronounced(list(draw_words(sum(SIZES), seed).values()), language)), SIZES, seed)
        chosen = choose_tokenizer(tokenizer, "char", (text for pair in parts.train for text in pair[:2]))
        about = _about(parts, chosen, language)
        return PronunciationCorpus(about, spec, chosen, parts)

    def read(paths: Sequence[Path]) -> Iterator[Pair]:
        for path in paths:
            yield from _read(path, options, language)

    data = read_examples("phonemes", place, options, read, lambda pair: pair.source, seed)
    chosen = data.tokenizer(tokenizer or "char", lambda pair: pair[:2])
    return PronunciationCorpus(data.about("words with phonemes", chosen), spec, chosen, data.parts)


def pronounced(words: Sequence[str], language: str) -> Iterator[Pair]:
    """Give words with the phonemes of espeak-ng, which are kept in the cache folder.

    Raises:
        DataError: If the program is not there, or fails.
    """
    name = f"phonemes-{language}-{fingerprint([espeak.version(), *words])}.txt"

    def make(path: Path) -> None:
        write_text(path, "\n".join(espeak.pronounce(words, language)) + "\n")

    kept = cached_file(name, make).read_text(encoding="utf-8").splitlines()
    return map(Pair, words, kept, (f"the word {word!r}" for word in words))


def _read(path: Path, options: Mapping[str, str], language: str) -> Iterator[Pair]:
    if ending(path) == ".dict":
        yield from _dictionary(path)
    elif ending(path) in ("", ".txt"):
        words = dict.fromkeys(row.values[0].strip() for row in read_lines(path, {}))
        yield from pronounced(list(words), language)
    else:
        for row in read_table(path, ("word", "phonemes"), options):
            word, phonemes = (" ".join(text.split()) for text in row.values)
            if not (word and phonemes):
                raise DataError(f"{row.place}: the {'phonemes are' if word else 'word is'} empty")
            yield Pair(word, phonemes, row.place)


def _dictionary(path: Path) -> Iterator[Pair]:
    """Read lines `word  P H O N E M E S`, further pronunciations as `word(2)`; `;;;` and ` #` begin a comment."""
    for number, line in lines(path):
        told = "" if line.startswith(";;;") else line.partition(" #")[0]
        word, *phonemes = told.split() or [""]
        if word and not phonemes:
            raise DataError(f"{path}:{number}: {word!r} has no phonemes; a line is a word and its phonemes")
        if word:
            yield Pair(_VARIANT.sub("", word).lower(), " ".join(phonemes), f"{path}:{number}")


def _rate(found: Sequence[tuple[int, int]]) -> float:
    return sum(edits for edits, _ in found) / max(1, sum(length for _, length in found))


def _about(parts: Parts[Pair], chosen: Tokenizer, language: str) -> DatasetInfo:
    told = (
        f"`phonemes` are {len(parts.train):,} words, most of them pseudowords, as espeak-ng pronounces them in "
        f"{language}, and {len(parts.test):,} of other stems for the test."
    )
    return DatasetInfo(
        "phonemes", told, fingerprint([repr(pair[:2]) for part in parts for pair in part] + [chosen.content])
    )
