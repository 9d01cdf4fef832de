"""Numbers in words, 1 to 99,999: English as written in America, German as one word."""

from collections.abc import Callable, Mapping

LARGEST = 99_999

_ENGLISH = [
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
]
_ENGLISH_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_GERMAN = [
    *("ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"),
    *("dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"),
]
_GERMAN_TENS = ["zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"]


def english(number: int) -> str:
    """Write a number: `twelve thousand three hundred forty-five`, without `and`."""
    thousands, rest = divmod(number, 1000)
    hundreds, below = divmod(rest, 100)
    words = [english(thousands), "thousand"] if thousands else []
    words += [_ENGLISH[hundreds - 1], "hundred"] if hundreds else []
    if 0 < below < 20:
        words.append(_ENGLISH[below - 1])
    elif below:
        tens, ones = divmod(below, 10)
        words.append(_ENGLISH_TENS[tens - 2] + (f"-{_ENGLISH[ones - 1]}" if ones else ""))
    return " ".join(words)


def german(number: int) -> str:
    """Write a number: `zwölftausenddreihundertfünfundvierzig`; what is below a million is one word, one is `eins`."""
    stem = _german_stem(number)
    return stem + "s" if number % 100 == 1 else stem


def _german_stem(number: int) -> str:
    """Write a number as it stands before another word: one is `ein`."""
    thousands, rest = divmod(number, 1000)
    hundreds, below = divmod(rest, 100)
    word = _german_stem(thousands) + "tausend" if thousands else ""
    word += _GERMAN[hundreds - 1] + "hundert" if hundreds else ""
    if 0 < below < 20:
        return word + _GERMAN[below - 1]
    tens, ones = divmod(below, 10)
    if ones:
        word += _GERMAN[ones - 1] + "und"
    return word + (_GERMAN_TENS[tens - 2] if tens else "")


LANGUAGES: Mapping[str, Callable[[int], str]] = {"en": english, "de": german}
"""By the code of ISO 639-1."""
