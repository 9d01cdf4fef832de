"""Made passages with questions about them: who put what where, when, and of which colour."""

import random
from typing import NamedTuple

NAMES = ("Anna", "Ben", "Carla", "David", "Emma", "Felix", "Grace", "Henry", "Iris", "Jonas")
OBJECTS = ("ball", "book", "cup", "key", "lamp", "hat", "box", "chair", "map", "coat")
COLOURS = ("red", "blue", "green", "black", "white", "brown", "grey", "yellow")
PLACES = (
    *("in the kitchen", "in the garden", "on the table", "under the bed", "behind the door", "in the car"),
    *("on the roof", "near the window"),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
SENTENCES = (2, 4)
"""Of a passage; no two name the same person, thing, place or day."""
KINDS = ("where", "who", "what", "colour", "when")
"""Of questions, all as often."""


class Question(NamedTuple):
    """A question about a passage with its answer, which stands in the passage; and the kind of the question."""

    question: str
    context: str
    answer: str
    kind: str


class _Event(NamedTuple):
    name: str
    colour: str
    thing: str
    place: str
    day: str

    def sentence(self, rng: random.Random) -> str:
        put = f"{self.name} put the {self.colour} {self.thing} {self.place}"
        return rng.choice((f"{put} on {self.day}.", f"{put}, it was on {self.day}."))

    def asked(self, kind: str) -> tuple[str, str]:
        """Give a question of a kind, which tells two or three of the five, and the answer."""
        if kind == "where":
            return f"Where did {self.name} put the {self.thing}?", self.place
        if kind == "who":
            return f"Who put the {self.thing} {self.place}?", self.name
        if kind == "what":
            return f"What did {self.name} put {self.place}?", f"the {self.colour} {self.thing}"
        if kind == "colour":
            return f"What colour is the {self.thing} that {self.name} put {self.place}?", self.colour
        return f"When did {self.name} put the {self.thing} {self.place}?", f"on {self.day}"


def draw_questions(count: int, seed: int) -> list[Question]:
    """Draw a question about each of so many passages, no two of them alike."""
    rng = random.Random(f"questions {seed}")
    found: dict[str, Question] = {}
    while len(found) < count:
        number = rng.randint(*SENTENCES)
        columns = (rng.sample(each, number) for each in (NAMES, COLOURS, OBJECTS, PLACES, DAYS))
        events = [_Event(*row) for row in zip(*columns, strict=True)]
        context = " ".join(event.sentence(rng) for event in events)
        kind = KINDS[len(found) % len(KINDS)]
        question, answer = rng.choice(events).asked(kind)
        found.setdefault(context, Question(question, context, answer, kind))
    return list(found.values())
