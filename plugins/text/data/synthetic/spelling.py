"""Words as English spells them, drawn from onsets, vowels, codas and affixes: some exist, most are pseudowords."""

import random

ONSETS = (
    *("", "b", "bl", "br", "c", "ch", "cl", "cr", "d", "dr", "f", "fl", "fr", "g", "gl", "gr", "h", "j", "k", "kn"),
    *("l", "m", "n", "p", "ph", "pl", "pr", "qu", "r", "s", "sc", "scr", "sh", "sk", "sl", "sm", "sn", "sp", "spr"),
    *("st", "str", "sw", "t", "th", "tr", "tw", "v", "w", "wh", "wr", "y"),
)
VOWELS = (
    *("a", "e", "i", "o", "u", "a", "e", "i", "o", "u", "a", "e", "i", "o"),  # the short ones are the most common
    *("ai", "au", "ea", "ee", "ie", "oa", "oi", "oo", "ou", "ow", "ar", "er", "ir", "or", "ur", "igh"),
)
CODAS = (
    *("", "b", "ck", "ct", "d", "ff", "ft", "g", "l", "ld", "ll", "lt", "m", "mp", "n", "nd", "ng", "nk", "nt", "p"),
    *("rd", "rk", "rm", "rn", "sh", "sk", "ss", "st", "t", "tch", "th", "x", "be", "ce", "de", "ge", "ke", "le"),
    *("me", "ne", "pe", "te", "ve"),
)
PREFIXES = ("un", "re", "dis", "pre", "over", "mis", "in", "sub")
SUFFIXES = (
    *("s", "ed", "ing", "er", "ly", "y", "ness", "ful", "less", "able", "ment", "tion", "ous", "ity", "ive", "al"),
    *("ist", "ic", "age", "ish"),
)
_PREFIXED, _SUFFIXED, _TWO = 0.1, 0.5, 0.4
"""Shares of words with a prefix, with a suffix, and with two syllables in the stem."""


def draw_words(count: int, seed: int) -> dict[str, str]:
    """Draw words by stem: each is of another one, so that no part of a split has a stem of another.

    A stem is one or two syllables, of an onset, a vowel and a coda each; a word may have a prefix and a suffix, too.
    """
    rng = random.Random(f"spelling {seed}")
    found: dict[str, str] = {}
    words: set[str] = set()
    while len(found) < count:
        stem = "".join(_syllable(rng) for _ in range(1 + (rng.random() < _TWO)))
        word = _affixed(stem, rng)
        if len(stem) > 2 and stem not in found and word not in words:
            found[stem] = word
            words.add(word)
    return found


def _syllable(rng: random.Random) -> str:
    return rng.choice(ONSETS) + rng.choice(VOWELS) + rng.choice(CODAS)


def _affixed(stem: str, rng: random.Random) -> str:
    prefix = rng.choice(PREFIXES) if rng.random() < _PREFIXED else ""
    if rng.random() >= _SUFFIXED:
        return prefix + stem
    suffix = rng.choice(SUFFIXES)
    silent = stem.endswith("e") and suffix[0] in "aeiouy"
    return prefix + (stem[:-1] if silent else stem) + suffix
