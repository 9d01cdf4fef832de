"""espeak-ng, the text-to-speech program: whether it is there, its version, and the phonemes it gives words.

It is found when it is needed; nothing of it is installed with this library.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence

from zoo import DataError
from zoo.data import shown

PROGRAM = "espeak-ng"
OLDEST = (1, 50)
"""The first version that has all the voices: a variant that is not there is left out without a word."""
SECONDS = 60.0
"""That the program may take for a call; one that takes so long hangs."""
INSTALL = "apt-get install espeak-ng, brew install espeak-ng, or see github.com/espeak-ng/espeak-ng"
_AT_ONCE = 500
"""Words of a call."""


def version() -> str:
    """Give the version of the program.

    Raises:
        DataError: If it is not there, or too old.
    """
    if shutil.which(PROGRAM) is None:
        raise DataError(f"these data need the program {PROGRAM}, and it is not installed: {INSTALL}")
    told = run(["--version"]).decode(errors="replace")
    found = re.search(r"(\d+)\.(\d+)[\w.]*", told)
    if found is None or (int(found[1]), int(found[2])) < OLDEST:
        raise DataError(
            f"these data need {PROGRAM} {'.'.join(map(str, OLDEST))} or newer, here is {told.strip()!r}: {INSTALL}"
        )
    return found[0]


def pronounce(words: Sequence[str], language: str) -> Iterator[str]:
    """Give the phonemes of each word in the International Phonetic Alphabet, a space between; stress stands before one.

    Args:
        words: each read alone, as if it were a sentence.
        language: of the program, such as `en-us`, `de` or `fr-fr`.

    Raises:
        DataError: If the program fails, or reads a word as several sentences or as none.
    """
    starts = range(0, len(words), _AT_ONCE)
    for start in shown(starts, len(starts), f"{PROGRAM} pronounces {len(words):,} words"):
        yield from _pronounced(words[start : start + _AT_ONCE], language)


def _pronounced(words: Sequence[str], language: str) -> list[str]:
    text = "\n\n".join(words) + "\n\n"
    told = run(["-q", "--ipa", "--sep= ", "-v", language, "--stdin"], text.encode()).decode()
    found = [" ".join(line.split()) for line in told.splitlines() if line.strip()]
    if len(found) == len(words):
        return found
    if len(words) == 1:
        raise DataError(f"{PROGRAM} -v {language} says {found or 'nothing'} for {words[0]!r}: it is no word to it")
    half = len(words) // 2  # to name the word
    return _pronounced(words[:half], language) + _pronounced(words[half:], language)


def run(arguments: list[str], text: bytes = b"") -> bytes:
    """Run the program, with a text on its standard input, and give what it prints.

    Raises:
        DataError: If it fails, or does not end.
    """
    command = [PROGRAM, *arguments]
    try:
        return subprocess.run(command, input=text, capture_output=True, check=True, timeout=SECONDS).stdout
    except (OSError, subprocess.SubprocessError) as error:
        why = error.stderr.decode(errors="replace").strip() if isinstance(error, subprocess.CalledProcessError) else ""
        raise DataError(f"{' '.join(command)} failed: {why or error}") from error
