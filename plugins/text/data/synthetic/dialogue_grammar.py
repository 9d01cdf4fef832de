"""A small grammar of dialogues about things: most answers depend on what was said in earlier turns."""

import random
from collections.abc import Sequence
from typing import NamedTuple

THINGS = ("dog", "cat", "horse", "car", "bike", "boat", "hat", "lamp")
COLOURS = ("red", "blue", "green", "black", "white", "brown", "grey", "yellow")
PLACES = ("in the garden", "in the kitchen", "at the station", "under the tree", "near the river", "on the hill")
UNKNOWN = "you have not told me"
TURNS = (2, 6)
"""Turns of a dialogue: what the user says, each with its answer."""
_PRONOUN = 0.4
"""Share of turns that say `it` where a thing was mentioned before."""


class Dialogue(NamedTuple):
    """What is said in turns, the user first and the answer to it behind; and the place in the file it is from."""

    turns: tuple[str, ...]
    place: str = ""


class _State:
    """What was told of each thing, and the thing that was mentioned last.

    Args:
        rng: draws the turns.
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.told: dict[str, dict[str, str]] = {}
        self.last = ""

    def turn(self) -> tuple[str, str]:
        """Draw what the user says, and give the answer."""
        if not self.told or self.rng.random() < 0.4:
            return self._statement()
        return self.rng.choice((self._question, self._question, self._correction, self._search))()

    def _named(self, things: Sequence[str]) -> tuple[str, str]:
        """Choose a thing, and what it is called: `it` only where it was mentioned last."""
        if self.last and self.rng.random() < _PRONOUN:
            return self.last, "it"
        self.last = self.rng.choice(things)
        return self.last, f"my {self.last}"

    def _statement(self) -> tuple[str, str]:
        thing, name = self._named(THINGS)
        kind, value = self.rng.choice((("colour", self.rng.choice(COLOURS)), ("place", self.rng.choice(PLACES))))
        self.told.setdefault(thing, {})[kind] = value
        return f"{name} is {value}", f"ok, your {thing} is {value}"

    def _question(self) -> tuple[str, str]:
        known = [*self.told, *self.told, self.rng.choice(THINGS)]
        thing, name = self._named(known)
        asked, kind = self.rng.choice((("what colour is", "colour"), ("where is", "place")))
        value = self.told.get(thing, {}).get(kind)
        return f"{asked} {name}", f"your {thing} is {value}" if value else UNKNOWN

    def _correction(self) -> tuple[str, str]:
        thing = self.last
        kind = self.rng.choice(list(self.told.get(thing, {})) or ["colour"])
        value = self.rng.choice(COLOURS if kind == "colour" else PLACES)
        self.told.setdefault(thing, {})[kind] = value
        return f"no, it is {value}", f"ok, your {thing} is {value}"

    def _search(self) -> tuple[str, str]:
        kind = self.rng.choice(("colour", "place"))
        there = [facts[kind] for facts in self.told.values() if kind in facts]
        value = self.rng.choice([*there, self.rng.choice(COLOURS if kind == "colour" else PLACES)])
        found = [thing for thing, facts in self.told.items() if facts.get(kind) == value]
        return f"what is {value}", f"your {' and your '.join(sorted(found))}" if found else UNKNOWN


def draw_dialogues(count: int, seed: int) -> list[Dialogue]:
    """Draw dialogues, no two alike, of all numbers of turns in `TURNS` equally often."""
    rng = random.Random(f"dialogue {seed}")
    low, high = TURNS
    found: dict[tuple[str, ...], None] = {}
    while len(found) < count:
        state, turns = _State(rng), list[str]()
        for _ in range(low + len(found) % (high - low + 1)):
            turns += state.turn()
        found[tuple(turns)] = None
    return [Dialogue(turns, f"dialogue {number}") for number, turns in enumerate(found)]
