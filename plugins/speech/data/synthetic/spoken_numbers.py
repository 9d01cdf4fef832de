"""The source `spoken-numbers`: speech translation, from numbers spoken in one language to their words in another."""

import random
from collections.abc import Mapping, Sequence

from torch import nn

from zoo import ConfigError, DataError, ModelSpec
from zoo.data import DatasetInfo, Parts, fingerprint, parse
from zoo.plugins.shared.text import number_words
from zoo.plugins.shared.text.tokenizer import Tokenizer
from zoo.plugins.speech.data.corpus import Sounds
from zoo.plugins.speech.data.synthetic import espeak
from zoo.plugins.speech.data.synthetic.spoken_digits import AUGMENTATION, ROOM, sounds_of
from zoo.plugins.speech.data.synthetic.voices import ACCENTS, PITCHES, SPEEDS, Utterance, speakers
from zoo.plugins.speech.data.transcripts import TranscriptsCorpus, tokenizer_for

SIZES = (3000, 150, 300)
"""Utterances of training, validation and test."""
LARGEST = 999
HELD_OUT = (50, 100)
"""Numbers of validation and of test, from 100 on: the words of smaller ones are the language's own."""
VOICES = {"en": ACCENTS, "de": ("de",)}
"""Accents of espeak-ng by language."""
DEFAULT = "en-de"


class TranslationsCorpus(TranscriptsCorpus):
    """Serve sounds with their translations, scored by the share that is exactly right.

    Args:
        about: the data.
        spec: of the model.
        tokenizer: of the translations.
        sounds: of each part.
        texts: their translations.

    Raises:
        ConfigError: If the model writes a token with each vector, in the order of the sound.
    """

    metric = "exact match"
    best = 1.0

    def __init__(
        self,
        about: DatasetInfo,
        spec: ModelSpec,
        tokenizer: Tokenizer,
        sounds: Mapping[str, Sounds],
        texts: Mapping[str, Sequence[str]],
    ) -> None:
        if spec.config.get("by", "attention") != "attention":
            raise ConfigError(
                f"'{about.name}' are translations, and '{spec.name}' with by={spec.config['by']!r} writes in the order "
                "of what is said: take speech-translator-tiny, or --set by=attention"
            )
        super().__init__(about, spec, tokenizer, sounds, texts, AUGMENTATION)

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """Give the share of texts without an error, and the error rates of words and of characters, turned round."""
        found = super().score(model, split, batch_size)
        return {name: found[name] for name in self.metrics(model)}

    def metrics(self, model: nn.Module) -> tuple[str, ...]:
        """Name the scores."""
        return ("exact match", "-word error rate", "-character error rate")


def open_spoken_numbers(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> TranslationsCorpus:
    """Open the numbers 1 to 999, said by espeak-ng in one language, with their words in another.

    The argument is `FROM-TO`, such as `en-de`. Validation and test have other numbers than training, in other voices.

    Raises:
        ConfigError: If the model does not translate.
        DataError: If the languages are others, or espeak-ng is not there.
    """
    pair, _ = parse(argument, ())
    said_in, written_in = _languages(pair or DEFAULT)
    drawn = draw(said_in, SIZES, seed)
    texts = {split: [each.text for each in part] for split, part in drawn.by_name().items()}
    write = number_words.LANGUAGES[written_in]
    meaning = {number_words.LANGUAGES[said_in](number): write(number) for number in range(1, LARGEST + 1)}
    translated = {split: [meaning[text] for text in part] for split, part in texts.items()}
    chosen = tokenizer_for(tokenizer, "bpe:400", translated["train"], spec)
    about = _about(f"{said_in}-{written_in}", drawn, chosen.content)
    return TranslationsCorpus(about, spec, chosen, sounds_of(f"numbers-{said_in}", drawn), translated)


def draw(language: str, sizes: tuple[int, int, int], seed: int) -> Parts[Utterance]:
    """Draw utterances: no number of validation and test is said in training, and no voice speaks in two parts.

    Args:
        language: in which the numbers are said.
        sizes: utterances of training, validation and test.
        seed: of everything.
    """
    rng = random.Random(f"numbers {language} {seed}")
    numbers = rng.sample(range(100, LARGEST + 1), LARGEST - 99)
    validation, test = HELD_OUT
    rest = [*range(1, 100), *numbers[validation + test :]]
    parts = Parts(rest, numbers[:validation], numbers[validation : validation + test])
    who = speakers(seed)
    return Parts(*(_utterances(language, *each, rng) for each in zip(parts, who, sizes, strict=True)))


def _utterances(
    language: str, numbers: Sequence[int], who: Sequence[str], count: int, rng: random.Random
) -> list[Utterance]:
    """Draw utterances of a part: each number about as often, and each voice."""
    order: list[int] = []
    while len(order) < count:
        order += rng.sample(numbers, len(numbers))
    words = number_words.LANGUAGES[language]
    return [
        Utterance(
            words(number),
            rng.choice(VOICES[language]),
            who[place % len(who)],
            rng.randint(*SPEEDS),
            rng.randint(*PITCHES),
        )
        for place, number in enumerate(order[:count])
    ]


def _languages(pair: str) -> tuple[str, str]:
    said_in, _, written_in = pair.partition("-")
    for language in (said_in, written_in):
        if language not in VOICES:
            known = ", ".join(VOICES)
            raise DataError(f"'spoken-numbers:{pair}': it is FROM-TO, such as {DEFAULT}, of the languages {known}")
    return said_in, written_in


def _about(pair: str, drawn: Parts[Utterance], further: str) -> DatasetInfo:
    said_in, written_in = _languages(pair)
    words = "the same language" if said_in == written_in else "another language"
    told = (
        f"`spoken-numbers:{pair}` are {len(drawn.train):,} numbers up to {LARGEST} spoken by espeak-ng, with their "
        f"words in {words}, and {len(drawn.test):,} of other numbers in other voices for the test."
    )
    pieces = [repr(each) for part in drawn for each in part]
    pieces += [written_in, espeak.version(), repr(ROOM), further]
    return DatasetInfo(f"spoken-numbers:{pair}", told, fingerprint(pieces))
