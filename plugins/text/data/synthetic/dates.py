"""Dates in words, each in one of three styles at random: the source `dates`, whose texts have several right answers.

That is what a model that writes all places at once cannot do by itself: each place chooses a style on its own, the
multimodality problem of arXiv:1711.02281 sec. 2.2.
"""

import random
from collections.abc import Sequence
from datetime import date, timedelta

from torch import nn

from zoo import ModelSpec
from zoo.core import has_own_loss
from zoo.data import Parts
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer
from zoo.plugins.shared.text.metrics import bleu, exact_match
from zoo.plugins.shared.text.number_words import english
from zoo.plugins.shared.text.tokenizer import Tokenizer
from zoo.plugins.text.data.parallel_corpus import GeneratedPair, Pair, ParallelCorpus
from zoo.plugins.text.data.synthetic.tasks import SIZES, about, in_parts

FIRST, LAST = date(1900, 1, 1), date(2099, 12, 31)
MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
            "twelve": "twelfth", "twenty": "twentieth", "thirty": "thirtieth"}  # fmt: skip
"""Those that are not made by adding `th`."""


class DatesCorpus(ParallelCorpus):
    """Serve dates with one of their texts each; in the scores every style of a date is right."""

    def references_of(self, pair: Pair) -> tuple[str, ...]:
        """See `ParallelCorpus.references_of`: the date in each style."""
        return styles(pair.source)

    def metrics_of(self, written: Sequence[GeneratedPair]) -> dict[str, float]:
        """Score what was written against all styles of each date."""
        texts, wanted = [each.text for each in written], [styles(each.pair.source) for each in written]
        return {"exact match": exact_match(texts, wanted), "BLEU": bleu(texts, wanted, "13a")}

    def metrics(self, model: nn.Module) -> tuple[str, ...]:
        """Name the scores."""
        return ("exact match", "BLEU", *(("loss",) if has_own_loss(model) else ("token accuracy", "perplexity")))


def open_dates(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> DatesCorpus:
    """Open dates such as `1987-03-05` with a text of each, in a style at random."""
    parts = in_parts(draw_dates(sum(SIZES), seed), SIZES)
    return corpus_of(parts, spec, choose_tokenizer(tokenizer, "bpe:400", [pair.target for pair in parts.train]))


def corpus_of(parts: Parts[Pair], spec: ModelSpec, tokenizer: Tokenizer) -> DatesCorpus:
    """Serve dates to a model."""
    told = about("dates", "dates in words, in one of three styles", parts, tokenizer.content)
    return DatesCorpus(told, spec, tokenizer, parts, metric="exact match")


def draw_dates(count: int, seed: int) -> list[Pair]:
    """Draw dates, no two alike, each with a text."""
    rng = random.Random(seed)
    days = rng.sample(range((LAST - FIRST).days + 1), count)
    return [
        Pair(text, rng.choice(styles(text)), "a drawn date") for text in (str(FIRST + timedelta(day)) for day in days)
    ]


def styles(text: str) -> tuple[str, str, str]:
    """Write a date in each style.

    Args:
        text: such as `1987-03-05`.
    """
    year, month, day = map(int, text.split("-"))
    name, ordinal, spoken = MONTHS[month - 1], nth(day), year_in_words(year)
    return f"{name} the {ordinal} {spoken}", f"the {ordinal} of {name} {spoken}", f"in {spoken} on {name} the {ordinal}"


def nth(day: int) -> str:
    """Write an ordinal: `first`, `twenty-third`."""
    before, hyphen, last = english(day).rpartition("-")
    return f"{before}{hyphen}{ORDINALS.get(last, f'{last}th')}"


def year_in_words(year: int) -> str:
    """Write a year by halves: `nineteen eighty-seven`, `twenty oh five`, `nineteen hundred`."""
    century, rest = divmod(year, 100)
    return f"{english(century)} {f'oh {english(rest)}' if 0 < rest < 10 else english(rest) or 'hundred'}"
