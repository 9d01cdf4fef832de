"""Pairs of a graph and a text that a program gives, for models of a graph encoder and a decoder that writes."""

from typing import Any

from zoo import ModelSpec
from zoo.data import Pairs
from zoo.plugins.graph.data.graph_pairs import opened
from zoo.plugins.graph.descriptions.corpus import DescribedGraphs
from zoo.plugins.graph.descriptions.open_descriptions import described, example_of, features_of
from zoo.plugins.graph.io.json_lines import is_line
from zoo.plugins.graph.io.smiles import of_smiles
from zoo.plugins.graph.requirements import RDKIT
from zoo.plugins.graph.sources import MOLECULES
from zoo.plugins.graph.structure.graph_inputs import GraphInputs
from zoo.registry import require


def open_pairs(pairs: Pairs, spec: ModelSpec, seed: int, tokenizer: str) -> DescribedGraphs:
    """Make a corpus of pairs (graph, text); a graph is what `graph_pairs.open_pairs` reads.

    Raises:
        DataError: If an item is no such pair, or a graph cannot be read.
        MissingLibraryError: If graphs are molecules and RDKit is not installed.
    """
    first, _, _ = next(pairs.pairs("train"))
    molecules = isinstance(first, str) and not is_line(first)
    if molecules:
        require(pairs.name, (RDKIT,))
    read = of_smiles if molecules else _read
    given = {
        part: [example_of(read, graph, place, text) for graph, text, place in pairs.pairs(part)] for part in pairs.parts
    }
    every = [each for part in given.values() for each in part]
    told = f"{pairs.name} are {len(every):,} graphs with texts."
    features = MOLECULES if molecules else features_of(every, pairs.name)
    return described(pairs.name, told, given, features, spec, seed, tokenizer)


def _read(graph: Any) -> GraphInputs:
    found = opened(graph)
    return found._replace(x=found.x.float(), edge_attr=None if found.edge_attr is None else found.edge_attr.float())
