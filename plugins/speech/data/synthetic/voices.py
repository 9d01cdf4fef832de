"""Utterances of synthetic speech: digits drawn from a seed, and espeak-ng voices split by speaker."""

import random
from collections.abc import Sequence
from typing import NamedTuple

from zoo.data import Parts

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
ACCENTS = ("en-us", "en-gb", "en-gb-scotland", "en-gb-x-rp", "en-gb-x-gbclan", "en-gb-x-gbcwmd", "en-029")
"""Of English; all of them are heard in training."""
SPEAKERS = (
    *("m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "Alex", "Andy", "adam", "antonio", "boris", "Denis", "Diogo"),
    *("ed", "Gene", "Hugo", "iven", "Jacky", "john", "Lee", "max", "Michael", "miguel", "pablo", "paul", "pedro"),
    *("quincy", "rob", "sandro", "travis", "f1", "f2", "f3", "f4", "f5", "Alicia", "Andrea", "Annie", "anika"),
    *("aunty", "belinda", "linda", "steph"),
)
"""Variants that espeak-ng 1.50 has, one of those that sound alike; no whispers and no robots."""
HELD_OUT = (5, 8)
"""Speakers of validation and of test; the others speak in training."""
SPEEDS = (130, 210)
"""Words in a minute."""
PITCHES = (25, 75)
"""Of 0 … 99."""
STRING = (3, 7)
"""Digits of a string."""


class Utterance(NamedTuple):
    """Text, voice, speed and pitch of an utterance."""

    text: str
    accent: str
    speaker: str
    speed: int
    pitch: int


def speakers(seed: int) -> Parts[str]:
    """Split the speakers: each is in one split only."""
    order = random.Random(seed).sample(SPEAKERS, len(SPEAKERS))
    validation, test = HELD_OUT
    return Parts(order[validation + test :], order[:validation], order[validation : validation + test])


def draw(kind: str, sizes: tuple[int, int, int], seed: int) -> Parts[Utterance]:
    """Draw the utterances of a corpus.

    Args:
        kind: `words`, single digits, all as often, or `strings` of 3 to 7.
        sizes: utterances of training, validation and test.
        seed: of everything.
    """
    rng = random.Random(f"{kind} {seed}")
    parts = zip(speakers(seed), sizes, strict=True)
    return Parts(*([_utterance(kind, number, who, rng) for number in range(count)] for who, count in parts))


def _utterance(kind: str, number: int, who: Sequence[str], rng: random.Random) -> Utterance:
    """Draw one; speakers and single digits take turns, so that all of them meet."""
    turn, place = divmod(number, len(who))
    digits = rng.choices(DIGITS, k=rng.randint(*STRING)) if kind == "strings" else [DIGITS[(turn + place) % 10]]
    return Utterance(" ".join(digits), rng.choice(ACCENTS), who[place], rng.randint(*SPEEDS), rng.randint(*PITCHES))
