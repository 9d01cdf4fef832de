"""Synthetic graphs of networkx with structural labels: has a triangle, is connected, number of components.

Graphs come in groups, one with each answer: they have as many nodes and edges, and as many nodes of each degree, so
that counting says nothing. They differ by swaps of two edges' ends, a-b and c-d to a-d and c-b, which keep degrees.
"""

import random
from collections.abc import Callable, Iterator
from itertools import pairwise

import networkx
import torch
from networkx import Graph

from zoo import DataError, ModelSpec
from zoo.data import DatasetInfo, complete, fingerprint, parse, shown
from zoo.plugins.graph.data.corpus import GraphsCorpus, GraphTask
from zoo.plugins.graph.data.examples import Example
from zoo.plugins.graph.structure.graph_inputs import GraphInputs

COUNT = 2000
"""Graphs, where nobody says how many."""
SMALLEST, LARGEST = 12, 24
"""Nodes of a graph."""
MOST_PARTS = 4
SWAPS = 100
"""Tried in search of a graph without triangles, until another is drawn."""

Group = list[Graph]
"""A graph of each class, in their order."""


def open_synthetic(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> GraphsCorpus:
    """Draw graphs; those of a group are all trained on, or none.

    Args:
        argument: `triangle`, `connected` or `components`; `?count=N` says how many graphs.
        spec: of the model.
        seed: of the graphs, which are the same each time, and of the split.
        tokenizer: none, there is no text.

    Raises:
        DataError: If there is no such property, or the count is none.
    """
    what, options = parse(argument, ("count",))
    if what not in QUESTIONS:
        raise DataError(f"drawn-graphs:{what}: the property is one of {', '.join(QUESTIONS)}")
    labels, draw = QUESTIONS[what]
    count = options.get("count", str(COUNT))
    if not count.isdecimal() or int(count) < 3 * len(labels):
        raise DataError(f"drawn-graphs:{argument}: count={count} is no whole number from {3 * len(labels)} on")
    groups = list(shown(_groups(draw, int(count) // len(labels), seed), int(count) // len(labels), "drawing graphs"))
    kept = complete({"train": range(len(groups))}, lambda group: group, seed, f"drawn-graphs:{what}")
    parts = {name: _examples([groups[place] for place in part]) for name, part in kept.by_name().items()}
    described = f"{len(groups) * len(labels):,} random graphs of {SMALLEST} to {LARGEST} nodes, to predict: {what}."
    about = DatasetInfo("drawn-graphs", described, fingerprint([what, count, str(seed), _text(groups)]))
    return GraphsCorpus(about, spec, GraphTask("classify", "class", labels), parts)


def _groups(draw: Callable[[random.Random], Group], count: int, seed: int) -> Iterator[Group]:
    for number in range(count):
        yield draw(random.Random((seed << 32) + number))


def _examples(groups: list[Group]) -> list[Example]:
    return [Example(given(graph), torch.tensor(label)) for group in groups for label, graph in enumerate(group)]


def given(graph: Graph) -> GraphInputs:
    """Give a graph's tensors: nodes without features, each edge in both directions."""
    ends = torch.tensor(list(graph.edges), dtype=torch.long).reshape(-1, 2).T
    return GraphInputs(torch.zeros(len(graph), 0), torch.cat([ends, ends.flip(0)], dim=1))


def with_triangle(generator: random.Random) -> Group:
    """Draw a graph without triangles, and one of the same degrees with some."""
    while True:
        graph = connected(generator, generator.randint(SMALLEST, LARGEST))
        without = _without_triangles(graph.copy(), generator)
        if without is None:
            continue
        other = _with_triangles(without.copy(), generator)
        if other is not None:
            return [without, other]


def parts_up_to(most: int, generator: random.Random) -> Group:
    """Draw a graph of so many parts, and join two of them at a time by a swap: a graph of 1, 2, … parts, in order."""
    while True:
        nodes = generator.randint(max(SMALLEST, 4 * most), LARGEST)
        cuts = sorted(generator.sample(range(1, nodes // 4), most - 1))
        sizes = [4 * (end - begin) for begin, end in pairwise([0, *cuts, nodes // 4])]
        sizes[-1] += nodes % 4
        graph = networkx.disjoint_union_all([connected(generator, size) for size in sizes])
        found = [graph]
        while len(found) < most and (joined := _joined(found[0].copy(), generator)) is not None:
            found.insert(0, joined)
        if len(found) == most:
            return found


def connected(generator: random.Random, nodes: int) -> Graph:
    """Draw a connected graph: a ring, a tree, stochastic blocks, or an Erdős–Rényi graph."""
    kind, seed = generator.choice(("ring", "tree", "blocks", "any")), generator.getrandbits(32)
    if kind == "ring":
        graph = networkx.cycle_graph(nodes)
    elif kind == "tree":
        graph = networkx.random_labeled_tree(nodes, seed=seed)
    elif kind == "blocks":
        half = nodes // 2
        graph = networkx.stochastic_block_model([half, nodes - half], [[0.5, 0.05], [0.05, 0.5]], seed=seed)
    else:
        graph = networkx.gnm_random_graph(nodes, nodes + generator.randint(0, nodes // 2), seed=seed)
    bare = networkx.Graph()
    bare.add_nodes_from(range(nodes))
    bare.add_edges_from(graph.edges)
    parts = [sorted(part) for part in networkx.connected_components(bare)]
    for one, other in pairwise(parts):
        bare.add_edge(generator.choice(one), generator.choice(other))
    return bare


def swapped(graph: Graph, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Swap the ends of two edges, a-b and c-d to a-d and c-b, unless one would join a node to itself or be there.

    Not by networkx's `double_edge_swap`, which draws the two edges itself: its swaps are among these (tested).
    """
    (a, b), (c, d) = one, other
    if len({a, b, c, d}) < 4 or graph.has_edge(a, d) or graph.has_edge(c, b):
        return False
    graph.remove_edges_from([one, other])
    graph.add_edges_from([(a, d), (c, b)])
    return True


def _corners(graph: Graph, edge: tuple[int, int]) -> int:
    """Count the triangles that an edge is a side of."""
    return len(graph.adj[edge[0]].keys() & graph.adj[edge[1]].keys())


def _without_triangles(graph: Graph, generator: random.Random) -> Graph | None:
    """Swap sides of triangles away until none is left; None where that takes too long."""
    for _ in range(SWAPS):
        sides = [edge for edge in sorted(graph.edges) if _corners(graph, edge)]
        if not sides:
            return graph
        a, b = generator.choice(sides)
        c, d = generator.sample(generator.choice(sorted(graph.edges)), 2)
        if swapped(graph, (a, b), (c, d)) and _corners(graph, (a, d)) + _corners(graph, (c, b)):
            swapped(graph, (a, d), (c, b))
    return None


def _with_triangles(graph: Graph, generator: random.Random) -> Graph | None:
    """Swap the ends of two edges so that two neighbours of a node become neighbours of each other."""
    nodes: list[int] = [node for node in sorted(graph) if graph.degree[node] > 1]
    generator.shuffle(nodes)
    for node in nodes:
        first, second = generator.sample(sorted(graph[node]), 2)
        ends = [(a, b) for a in sorted(set(graph[first]) - {node}) for b in sorted(set(graph[second]) - {node})]
        if any(swapped(graph, (first, a), (b, second)) for a, b in ends):
            return graph
    return None


def _joined(graph: Graph, generator: random.Random) -> Graph | None:
    """Join two parts of a graph by a swap; None where they are trees, which a swap cannot join."""
    parts = [sorted(part) for part in networkx.connected_components(graph)]
    bridges = {frozenset(edge) for edge in networkx.bridges(graph)}
    rounds = [edge for edge in sorted(graph.edges) if frozenset(edge) not in bridges]
    if not rounds:
        return None
    one = generator.choice(rounds)
    others = [edge for part in parts if one[0] not in part for edge in sorted(graph.subgraph(part).edges)]
    return graph if others and swapped(graph, one, generator.choice(others)) else None


def _text(groups: list[Group]) -> str:
    return " ".join(str(sorted(graph.edges)) for group in groups for graph in group)


QUESTIONS: dict[str, tuple[tuple[str, ...], Callable[[random.Random], Group]]] = {
    "triangle": (("no triangle", "triangle"), with_triangle),
    "connected": (("connected", "in two parts"), lambda generator: parts_up_to(2, generator)),
    "components": (("1", "2", "3", "4"), lambda generator: parts_up_to(MOST_PARTS, generator)),
}
"""Names of the classes, and what draws a graph of each."""
