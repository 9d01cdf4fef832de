"""Drawn graphs and their descriptions, by a grammar: "a red ring of five tied to a blue star of six".

Text = Part {Relation Part};   Part = "a" Colour Shape "of" Number;   Relation = "tied to" | "beside"

A part is all nodes of one colour, and its shape is told by the edges between them. Two parts are tied by one edge, or
have none between them. Parts stand in the order of their shapes, sizes and colours, so that a graph has one
description, and graphs of one description are alike but for the ends of the edges that tie.
"""

import random
from typing import NamedTuple

import torch

from zoo.plugins.graph.structure.graph_inputs import GraphInputs

COLOURS = ("red", "green", "blue", "yellow")
SHAPES = ("ring", "star", "path", "clique")
NUMBERS = {4: "four", 5: "five", 6: "six", 7: "seven"}
"""Nodes of a part: from four on, the shapes differ."""
COUNTS = {1: 0.05, 2: 0.55, 3: 0.4}
"""How many parts a graph has, and how often; there are 64 descriptions of one part."""

Edge = tuple[int, int]


class Part(NamedTuple):
    """A shape of some nodes of one colour; shape and colour by their places in `SHAPES` and `COLOURS`."""

    shape: int
    size: int
    colour: int

    def __str__(self) -> str:
        return f"a {COLOURS[self.colour]} {SHAPES[self.shape]} of {NUMBERS[self.size]}"


class Described(NamedTuple):
    """A graph, whose nodes have their colour as `x` (n, 1), and its description."""

    graph: GraphInputs
    text: str


def draw_graphs(count: int, seed: int) -> list[Described]:
    """Draw graphs, no two of one description, so that none that is tested was trained on."""
    rng, found = random.Random(seed), dict[str, Described]()
    while len(found) < count:
        each = draw_graph(rng)
        found.setdefault(each.text, each)
    return list(found.values())


def draw_graph(rng: random.Random) -> Described:
    """Draw a graph of one to three parts."""
    number = rng.choices(list(COUNTS), list(COUNTS.values()))[0]
    colours = rng.sample(range(len(COLOURS)), number)
    parts = sorted(Part(rng.randrange(len(SHAPES)), rng.choice(list(NUMBERS)), colour) for colour in colours)
    tied = [rng.random() < 0.5 for _ in parts[1:]]
    return Described(graph_of(parts, tied, rng), describe(parts, tied))


def describe(parts: list[Part], tied: list[bool]) -> str:
    """Write the description of parts, each tied to the one before it or not."""
    following = (f"{'tied to' if tie else 'beside'} {part}" for part, tie in zip(parts[1:], tied, strict=True))
    return " ".join((str(parts[0]), *following))


def graph_of(parts: list[Part], tied: list[bool], rng: random.Random) -> GraphInputs:
    """Make a graph of parts; its nodes are in a random order, and the ends of edges that tie are random."""
    edges: list[Edge] = []
    begins = [sum(part.size for part in parts[:place]) for place in range(len(parts) + 1)]
    for part, begin in zip(parts, begins, strict=False):
        edges += [(begin + one, begin + other) for one, other in edges_of(part.shape, part.size)]
    for place, tie in enumerate(tied, 1):
        if tie:
            ends = (begins[place - 1], begins[place]), (begins[place], begins[place + 1])
            edges.append((rng.randrange(*ends[0]), rng.randrange(*ends[1])))
    order = rng.sample(range(begins[-1]), begins[-1])
    colours = torch.tensor([part.colour for part in parts]).repeat_interleave(
        torch.tensor([part.size for part in parts])
    )
    x = torch.empty(begins[-1], 1, dtype=torch.long)
    x[order, 0] = colours
    both = [(order[one], order[other]) for pair in edges for one, other in (pair, pair[::-1])]
    return GraphInputs(x, torch.tensor(sorted(both)).T.contiguous())


def edges_of(shape: int, size: int) -> list[Edge]:
    """List the edges of a shape, each once."""
    path = [(node, node + 1) for node in range(size - 1)]
    return {
        "ring": [*path, (size - 1, 0)],
        "star": [(0, node) for node in range(1, size)],
        "path": path,
        "clique": [(one, other) for other in range(size) for one in range(other)],
    }[SHAPES[shape]]
