"""Word and character error rates of transcripts: edit distance over the length of the reference."""

from collections.abc import Iterable, Sequence


def word_error_rate(written: Sequence[str], wanted: Sequence[str]) -> float:
    """Give words that are wrong, left out or put in, over the words that were said; more than 1 is possible.

    Args:
        written: by the model.
        wanted: one transcript for each; together they have a word.
    """
    return _rate([text.split() for text in written], [text.split() for text in wanted])


def character_error_rate(written: Sequence[str], wanted: Sequence[str]) -> float:
    """Give the same of characters, with the spaces between words."""
    return _rate(written, wanted)


def _rate(written: Iterable[Sequence[str]], wanted: Sequence[Sequence[str]]) -> float:
    from torchaudio.functional import edit_distance

    edits = sum(edit_distance(one, other) for one, other in zip(written, wanted, strict=True))
    return float(edits) / sum(map(len, wanted))
