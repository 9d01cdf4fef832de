"""Classification of opinions: the sources `sentiment` and `toxicity`, and how far a bag of words comes on them."""

import random
from collections.abc import Callable, Sequence

from zoo import ModelSpec
from zoo.data import Parts
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer
from zoo.plugins.text.data.labelled_corpus import Labelled, LabelledCorpus
from zoo.plugins.text.data.synthetic import sentiment, toxicity
from zoo.plugins.text.data.synthetic.tasks import SIZES, about, in_parts

Write = Callable[[random.Random, bool], str]


def open_sentiment(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> LabelledCorpus:
    """Open reviews with negation, contrast and hedges, `positive` or `negative`."""
    parts = draw(sentiment.review, sentiment.LABELS, SIZES, seed)
    return _corpus("sentiment", "reviews with negation, contrast and hedges", parts, sentiment.LABELS, spec, tokenizer)


def open_toxicity(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> LabelledCorpus:
    """Open comments with mild insults, of somebody (`toxic`) or to other ends (`civil`)."""
    parts = draw(toxicity.comment, toxicity.LABELS, SIZES, seed)
    return _corpus("toxicity", "comments with mild insults", parts, toxicity.LABELS, spec, tokenizer)


def draw(write: Write, labels: Sequence[str], sizes: tuple[int, int, int], seed: int) -> Parts[Labelled]:
    """Draw texts, no two alike, of the two labels in turns, so that each part has as many of either.

    Args:
        write: a text of the second label, or of the first.
        labels: the two.
        sizes: of training, validation and test.
        seed: of all choices.
    """
    rng, found = random.Random(seed), dict[str, Labelled]()
    while len(found) < sum(sizes):
        label = len(found) % 2
        text = write(rng, bool(label))
        found.setdefault(text, Labelled(text, labels[label], "a drawn text"))
    drawn = list(found.values())
    pairs = [drawn[at : at + 2] for at in range(0, len(drawn), 2)]  # of both labels; later ones are longer
    rng.shuffle(pairs)
    return in_parts([each for pair in pairs for each in pair], sizes)


def bag_of_words_accuracy(parts: Parts[Labelled]) -> float:
    """Give the test accuracy of a logistic regression on the counts of words: the shortcut that does not read order."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    counts = CountVectorizer(token_pattern=r"\S+")
    model = LogisticRegression(max_iter=200)
    model.fit(counts.fit_transform([each.text for each in parts.train]), [each.label for each in parts.train])
    return float(model.score(counts.transform([each.text for each in parts.test]), [each.label for each in parts.test]))


def _corpus(
    name: str, what: str, parts: Parts[Labelled], labels: Sequence[str], spec: ModelSpec, tokenizer: str
) -> LabelledCorpus:
    chosen = choose_tokenizer(tokenizer, "word", [each.text for each in parts.train])
    return LabelledCorpus(about(name, what, parts, chosen.content), spec, chosen, parts, labels)
