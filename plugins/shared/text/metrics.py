"""Metrics of generated text: BLEU and exact match, against one reference for each text or several."""

from collections.abc import Sequence
from itertools import zip_longest

References = Sequence[str | Sequence[str]]
"""What was wanted of each text: one, or several of which any is right."""


def exact_match(written: Sequence[str], wanted: References) -> float:
    """Give the share of texts that are exactly what was wanted, or one of what was."""
    return sum(one in several(other) for one, other in zip(written, wanted, strict=True)) / len(wanted)


def bleu(written: Sequence[str], wanted: References, units: str) -> float:
    """Give BLEU of 0 to 100 (arXiv:1804.08771).

    Args:
        written: by the model.
        wanted: the references of each.
        units: a tokenisation of sacrebleu: `13a` for languages with spaces, `char`, `zh`, ….
    """
    import sacrebleu

    streams = [list(stream) for stream in zip_longest(*map(several, wanted))]
    return sacrebleu.corpus_bleu(list(written), streams, tokenize=units, force=True).score


def several(reference: str | Sequence[str]) -> Sequence[str]:
    """Give the references of a text as a sequence."""
    return [reference] if isinstance(reference, str) else reference
