"""Metrics of generated text: BLEU, exact match, token F1 and edit distance, against one reference or several."""

import re
import string
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import zip_longest

References = Sequence[str | Sequence[str]]
"""What was wanted of each text: one, or several of which any is right."""


def exact_match(written: Sequence[str], wanted: References) -> float:
    """Give the share of texts that are exactly what was wanted, or one of what was."""
    return sum(one in several(other) for one, other in zip(written, wanted, strict=True)) / len(wanted)


def bleu(written: Sequence[str], wanted: References, units: str) -> float:
    """Give BLEU of 0 to 100 (arXiv:1804.08771), of n-grams of up to four words.

    Where no text that was written has four words, the longest n-grams that there are come last, as sacrebleu's
    `eff:yes` counts: right texts of three words have 100 and not 0. All other BLEU is that of sacrebleu's defaults.

    Args:
        written: by the model.
        wanted: the references of each.
        units: a tokenisation of sacrebleu: `13a` for languages with spaces, `char`, `zh`, ….
    """
    import sacrebleu

    streams = [list(stream) for stream in zip_longest(*map(several, wanted))]
    return sacrebleu.corpus_bleu(list(written), streams, tokenize=units, force=True, use_effective_order=True).score


def token_f1(written: str, wanted: str) -> float:
    """Give F1 of the words of a text against those of a reference, each as `normalised` (arXiv:1606.05250 sec. 6.1)."""
    one, other = normalised(written).split(), normalised(wanted).split()
    shared = sum((Counter(one) & Counter(other)).values())
    return 2 * shared / (len(one) + len(other)) if one or other else 1.0


def normalised(text: str) -> str:
    """Give a text in lower case without punctuation, articles and double spaces, as SQuAD's evaluation compares."""
    plain = text.lower().translate(str.maketrans("", "", string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", plain).split())


def edit_distance(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """Count the insertions, deletions and substitutions that make one sequence of the other (Levenshtein distance)."""
    row = list(range(len(other) + 1))
    for place, item in enumerate(one, 1):
        above, row[0] = row[0], place
        for column, wanted in enumerate(other, 1):
            above, row[column] = row[column], min(row[column] + 1, row[column - 1] + 1, above + (item != wanted))
    return row[-1]


def several(reference: str | Sequence[str]) -> Sequence[str]:
    """Give the references of a text as a sequence."""
    return [reference] if isinstance(reference, str) else reference
