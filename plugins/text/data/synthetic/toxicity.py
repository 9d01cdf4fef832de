"""Comments made by a grammar: toxic ones insult a person, mildly; civil ones use the same words to other ends.

A comment is toxic if its writer claims something bad of somebody else. Insults that are negated, quoted to be refused,
said of a thing or of the writer, are civil; praise that is negated is not. These are drawn independently, so that
counting words (a bag of words) says little. The insults are mild and clean.
"""

import random
from collections.abc import Callable

INSULTS = (
    *("lazy", "silly", "clumsy", "rude", "dull", "foolish", "grumpy", "slow"),
    *("a fool", "a clown", "a slowpoke", "a grump", "a bore", "a blockhead", "a chatterbox", "a sourpuss"),
)
PRAISE = (
    *("kind", "clever", "helpful", "polite", "bright", "patient", "honest", "careful"),
    *("a friend", "a hero", "a gem", "a star", "an expert", "a good neighbour", "a thinker", "a gentle soul"),
)
OTHERS = ("you are", "your brother is", "your team is", "he is", "she is", "the author is")
OWN = ("i am", "i was today", "the writer of this , me , is")
THINGS = ("the robot in the film is", "the dog in the story is", "the cat of the cartoon is", "the hero of the game is")
NEGATIONS = ("not", "never", "hardly", "by no means", "anything but")
NEGATED = 0.35
"""Share of what is negated, or quoted and refused: less than half, so that insults tell a little, as in life."""
LABELS = ("civil", "toxic")

Draw = random.Random


def comment(rng: Draw, toxic: bool) -> str:
    """Draw a comment, toxic or civil."""
    return rng.choice(FORMS)(rng, toxic)


def claim(rng: Draw, who: str, bad: bool) -> str:
    """Say of somebody that they are good or bad, or that they are not the contrary."""
    negated = rng.random() < NEGATED
    said = rng.choice(INSULTS if bad != negated else PRAISE)
    return f"{who} {rng.choice(NEGATIONS)} {said}" if negated else f"{who} {said}"


def alone(rng: Draw, toxic: bool) -> str:
    """Claim it of somebody."""
    return claim(rng, rng.choice(OTHERS), toxic)


def contrast(rng: Draw, toxic: bool) -> str:
    """Set somebody against the writer or a thing, of which the contrary is claimed; either may come first."""
    pair = [
        claim(rng, rng.choice(OTHERS), toxic),
        claim(rng, rng.choice((*OWN, *THINGS)), not toxic),
    ]
    rng.shuffle(pair)
    return f"{pair[0]} {rng.choice(('and', 'but', 'while'))} {pair[1]}"


def quoted(rng: Draw, toxic: bool) -> str:
    """Quote a claim, and call it right or wrong."""
    right = rng.random() >= NEGATED
    stance = rng.choice(
        ("it is right to say that", "i agree that") if right else ("it is wrong to say that", "i doubt that")
    )
    return f"{stance} {claim(rng, rng.choice(OTHERS), toxic == right)}"


def surmised(rng: Draw, toxic: bool) -> str:
    """Hedge: what everybody knows, or nobody would say."""
    known = rng.random() >= NEGATED
    stance = rng.choice(
        ("everybody knows that", "it seems to me that") if known else ("nobody would say that", "it cannot be that")
    )
    return f"{stance} {claim(rng, rng.choice(OTHERS), toxic == known)}"


FORMS: tuple[Callable[[Draw, bool], str], ...] = (alone, alone, contrast, contrast, quoted, surmised)
