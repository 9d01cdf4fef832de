import random

from zoo.plugins.text.data.synthetic import sentiment
from zoo.plugins.text.data.synthetic.sentiment import NEGATIVE, POSITIVE, contrast, review


def read(text: str) -> bool:
    """Read a claim: its adjective, turned round by a negation."""
    turned = any(text.partition(negation)[1] for negation in sentiment.NEGATIONS)
    return (text.split()[-1] in POSITIVE) != turned


def test_a_claim_means_what_its_adjective_and_its_negation_say() -> None:
    rng = random.Random(0)
    assert all(read(sentiment.claim(rng, positive)) == positive for _ in range(200) for positive in (True, False))


def test_of_a_contrast_what_stands_behind_is_meant() -> None:
    rng = random.Random(0)
    for _ in range(100):
        text = sentiment.contrast(rng, True)
        word = next(each for each in (" but the ", " yet the ", " and still the ") if each in text)
        before, _, behind = text.partition(word)
        assert (read(before), read(behind)) == (False, True)


def test_what_is_reported_is_turned_round_where_the_writer_disagrees() -> None:
    rng = random.Random(0)
    for _ in range(100):
        text = sentiment.reported(rng, True)
        agreed = text.endswith(("agree", "right")) and not text.endswith("disagree")
        claimed = text.replace(" which is right", "").replace(" which is wrong", "")
        claimed = claimed.replace(" and i disagree", "").replace(" and i agree", "")
        assert read(claimed) == agreed


def test_of_a_contrast_the_adjectives_alone_say_nothing() -> None:
    rng = random.Random(0)
    for words in (POSITIVE, NEGATIVE):
        counts = [
            sum(word in words for _ in range(2000) for word in contrast(rng, kind).split()) for kind in (True, False)
        ]
        assert abs(counts[0] - counts[1]) < 0.08 * sum(counts)


def test_a_form_of_each_kind_is_drawn() -> None:
    rng = random.Random(0)
    drawn = [review(rng, True) for _ in range(300)]
    for sign in (" but ", "although", "which is wrong", "i expected", "far from"):
        assert any(sign in text for text in drawn)
