"""Metrics of generated text: BLEU and exact match."""

from collections.abc import Sequence


def exact_match(written: Sequence[str], wanted: Sequence[str]) -> float:
    """Give the share of texts that are exactly what was wanted."""
    return sum(one == other for one, other in zip(written, wanted, strict=True)) / len(wanted)


def bleu(written: Sequence[str], wanted: Sequence[str], units: str) -> float:
    """Give BLEU of 0 to 100 (arXiv:1804.08771).

    Args:
        written: by the model.
        wanted: one reference for each.
        units: a tokenisation of sacrebleu: `13a` for languages with spaces, `char`, `zh`, ….
    """
    import sacrebleu

    return sacrebleu.corpus_bleu(list(written), [list(wanted)], tokenize=units, force=True).score
