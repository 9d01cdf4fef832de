"""Reviews made by a grammar: sentences whose sentiment depends on negation, contrast and what is only reported.

Whether a sentence is positive follows from each claim's adjective and its negation together, and from which of two
claims stands behind `but` or beside `although`. These are drawn independently, so that counting words (a bag of words)
says little.
"""

import random
from collections.abc import Callable

POSITIVE = (
    *("good", "great", "lovely", "brilliant", "charming", "delightful", "pleasant", "clever"),
    *("excellent", "fresh", "friendly", "funny", "moving", "perfect", "useful", "warm"),
)
NEGATIVE = (
    *("bad", "awful", "boring", "clumsy", "dull", "dreadful", "messy", "poor"),
    *("slow", "stale", "terrible", "tiresome", "ugly", "useless", "weak", "unpleasant"),
)
THINGS = (
    *("film", "plot", "book", "song", "hotel", "room", "meal", "soup", "service", "waiter"),
    *("actor", "ending", "game", "phone", "museum", "trip", "concert", "story", "seat", "view"),
)
DEGREES = ("", "", "very ", "really ", "quite ", "rather ", "so ", "truly ")
NEGATIONS = ("was not", "was never", "was hardly", "was far from", "was anything but", "was by no means")
NEGATED = 0.35
"""Share of what is negated, or reported and refused: less than half, so that adjectives tell a little, as in life."""
LABELS = ("negative", "positive")

Draw = random.Random


def review(rng: Draw, positive: bool) -> str:
    """Draw a review of a sentiment."""
    return rng.choice(FORMS)(rng, positive)


def claim(rng: Draw, positive: bool) -> str:
    """Say of a thing that it is good or bad, or that it is not the contrary."""
    return f"the {rng.choice(THINGS)} {predicate(rng, positive)}"


def predicate(rng: Draw, positive: bool) -> str:
    """Draw a verb and an adjective, which is negated now and then."""
    negated = rng.random() < NEGATED
    adjective = rng.choice(POSITIVE if positive != negated else NEGATIVE)
    return f"{rng.choice(NEGATIONS)} {adjective}" if negated else f"was {rng.choice(DEGREES)}{adjective}"


def alone(rng: Draw, positive: bool) -> str:
    """Claim it."""
    return claim(rng, positive)


def both(rng: Draw, positive: bool) -> str:
    """Claim it twice."""
    return f"{claim(rng, positive)} and {claim(rng, positive)}"


def contrast(rng: Draw, positive: bool) -> str:
    """Claim the contrary before `but`: what stands behind it is meant."""
    return f"{claim(rng, not positive)} {rng.choice(('but', 'yet', 'and still'))} {claim(rng, positive)}"


def concession(rng: Draw, positive: bool) -> str:
    """Grant the contrary, before or behind what is meant."""
    granted = f"{rng.choice(('although', 'even though', 'while'))} {claim(rng, not positive)}"
    meant = claim(rng, positive)
    return f"{granted} , {meant}" if rng.random() < 0.5 else f"{meant} {granted}"


def reported(rng: Draw, positive: bool) -> str:
    """Report a claim, and agree or disagree."""
    agreed = rng.random() >= NEGATED
    who = rng.choice(("they say", "my friend says", "the poster says", "some write", "i had heard"))
    answers = ("and i agree", "which is right") if agreed else ("and i disagree", "which is wrong")
    return f"{who} {claim(rng, positive == agreed)} {rng.choice(answers)}"


def hedge(rng: Draw, positive: bool) -> str:
    """Expect something, and say whether it came so."""
    came = rng.random() >= NEGATED
    expected = rng.choice(("i expected that", "i feared that", "i hoped that", "i guessed that"))
    adjective = rng.choice(POSITIVE if positive == came else NEGATIVE)
    answer = ("and so it was", "and that came true") if came else ("and it was not", "but it turned out otherwise")
    return f"{expected} the {rng.choice(THINGS)} would be {rng.choice(DEGREES)}{adjective} {rng.choice(answer)}"


FORMS: tuple[Callable[[Draw, bool], str], ...] = (
    *(alone, alone, both, contrast, contrast, concession, concession, reported, hedge),
)
"""Ways in which a review is written, some more often."""
