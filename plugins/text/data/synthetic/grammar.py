"""A small English grammar: sentences with their trees, parts of speech and topics, drawn at random.

Each sentence has one tree: `of` belongs to the noun before it, other prepositions to the verb, `that` opens a clause
about the noun before it. Labels of phrases follow the example `(S (NP deep learning) (VP is (ADJV very powerful)))`,
parts of speech those of universaldependencies.org.
"""

import random
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from zoo.plugins.text.data.synthetic import lexicon

MOST_WORDS = 16
"""Of a sentence; longer ones are drawn again."""


class Leaf(NamedTuple):
    """Hold a word, its part of speech, and the topic of a noun."""

    word: str
    tag: str
    topic: str = ""


@dataclass(frozen=True)
class Tree:
    """Hold a phrase: its label, and words and phrases in order."""

    label: str
    parts: tuple["Leaf | Tree", ...]

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """The words in order."""
        return tuple(leaf for part in self.parts for leaf in ((part,) if isinstance(part, Leaf) else part.leaves))

    def text(self) -> str:
        """Write the sentence."""
        return " ".join(leaf.word for leaf in self.leaves)

    def brackets(self) -> str:
        """Write the tree in brackets; parts of speech are left out."""
        inner = (part.word if isinstance(part, Leaf) else part.brackets() for part in self.parts)
        return f"({self.label} {' '.join(inner)})"

    def topics(self) -> list[str]:
        """Give the topics of the nouns, each once, in alphabetical order."""
        return sorted({leaf.topic for leaf in self.leaves if leaf.topic})


class Grammar:
    """Draw sentences.

    Args:
        rng: what the choices are drawn from.
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def sentence(self) -> Tree:
        """Draw a sentence, of two clauses now and then."""
        while True:
            found = self._clause()
            if self._chance(0.15):
                found = Tree("S", (found, Leaf(self.rng.choice(("and", "but")), "CCONJ"), self._clause()))
            if len(found.leaves) <= MOST_WORDS:
                return found

    def _clause(self) -> Tree:
        subject, singular = self._noun_phrase(0)
        return Tree("S", (subject, self._verb_phrase(singular, 0)))

    def _noun_phrase(self, depth: int) -> tuple[Tree, bool]:
        """Draw what a noun or pronoun heads, and whether it is one; phrases inside it are simpler."""
        if depth == 0 and self._chance(0.15):
            word, one = self.rng.choice(list(lexicon.PRONOUNS.items()))
            return Tree("NP", (Leaf(word, "PRON"),)), one
        topic = self.rng.choice(list(lexicon.NOUNS))
        qualities = tuple(Leaf(self.rng.choice(lexicon.ADJECTIVES), "ADJ") for _ in range(self._count(0.4, 2)))
        form = self.rng.choices(("mass", "one", "many"), (1, 3, 2))[0]
        if form == "mass":
            noun = self.rng.choice(lexicon.MASS[topic].split())
        else:
            noun = self.rng.choice(lexicon.NOUNS[topic].split()).split(":")[form == "many"]
        words = (*qualities, Leaf(noun, "NOUN", topic))
        parts: tuple[Leaf | Tree, ...] = (*self._article(form, words[0].word), *words)
        if depth < 2 and self._chance(0.15):
            parts += (Tree("PP", (Leaf("of", "ADP"), self._noun_phrase(depth + 1)[0])),)
        elif depth < 1 and self._chance(0.12):
            parts += (Tree("SBAR", (Leaf("that", "PRON"), self._verb_phrase(form != "many", depth + 1))),)
        return Tree("NP", parts), form != "many"

    def _article(self, form: str, following: str) -> tuple[Leaf, ...]:
        """Draw what stands before a noun: nothing before one without plural, something always before a single one."""
        if form == "mass" or (form == "many" and self._chance(0.4)):
            return ()
        indefinite = "an" if following[0] in "aeiou" else "a"
        choices = ("the", "this", indefinite) if form == "one" else ("the", "these", "some")
        return (Leaf(self.rng.choice(choices), "DET"),)

    def _verb_phrase(self, singular: bool, depth: int) -> Tree:
        form = self.rng.choices(("quality", "place", "alone", "object"), (4, 1, 2, 4))[0]
        if form == "quality":
            return Tree("VP", (self._copula(singular), self._quality()))
        if form == "place":
            return Tree("VP", (self._copula(singular), self._place(depth)))
        parts: tuple[Leaf | Tree, ...] = (self._verb(form, singular),)
        if form == "object":
            parts += (self._noun_phrase(depth + 1)[0],)
        if self._chance(0.2):
            parts += (self._place(depth),)
        if self._chance(0.2):
            parts += (Tree("ADVP", (Leaf(self.rng.choice(lexicon.MANNERS), "ADV"),)),)
        return Tree("VP", parts)

    def _copula(self, singular: bool) -> Leaf:
        return Leaf("is" if singular else "are", "AUX")

    def _verb(self, form: str, singular: bool) -> Leaf:
        verbs = lexicon.TRANSITIVE if form == "object" else lexicon.INTRANSITIVE
        return Leaf(self.rng.choice(verbs).split(":")[singular], "VERB")

    def _quality(self) -> Tree:
        degree = (Leaf(self.rng.choice(lexicon.DEGREES), "ADV"),) if self._chance(0.5) else ()
        return Tree("ADJV", (*degree, Leaf(self.rng.choice(lexicon.ADJECTIVES), "ADJ")))

    def _place(self, depth: int) -> Tree:
        return Tree("PP", (Leaf(self.rng.choice(lexicon.PLACES), "ADP"), self._noun_phrase(depth + 1)[0]))

    def _chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def _count(self, probability: float, most: int) -> int:
        """Draw how often in a row something happens."""
        return next((number for number in range(most) if not self._chance(probability)), most)


def draw_sentences(count: int, seed: int) -> list[Tree]:
    """Draw sentences, no two with the same words."""
    grammar = Grammar(random.Random(seed))
    found: dict[str, Tree] = {}
    while len(found) < count:
        tree = grammar.sentence()
        found.setdefault(tree.text(), tree)
    return list(found.values())
