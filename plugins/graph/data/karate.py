"""Zachary's karate club for `zoo train`: 34 nodes, their edges, and the group of each.

The graph, its communities and the four members labelled for training are those of PyTorch Geometric, as in
arXiv:1609.02907 app. A.1: communities that clustering by modularity found. The factions are those into which the club
broke up (Zachary 1977); known in training are those of the two leaders.
"""

import torch
from torch import Tensor

from zoo import DataError, ModelSpec
from zoo.core import IGNORED
from zoo.data import DatasetInfo, fingerprint
from zoo.plugins.graph.data.corpus import GraphsCorpus, GraphTask
from zoo.plugins.graph.data.examples import Example
from zoo.plugins.graph.requirements import import_pyg
from zoo.plugins.graph.structure.graph_inputs import GraphInputs

KINDS = {"communities": "community", "factions": "faction"}
LEADERS = (0, 33)
"""The instructor and the club's officer."""


def open_karate(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> GraphsCorpus:
    """Open the club.

    A member's features say who he is, and nothing else. No member is left for validation: the likelihood of the
    labels that are told chooses the checkpoint.

    Args:
        argument: `communities`, or `factions`.
        spec: of the model.
        seed: changes nothing here.
        tokenizer: none, there is no text.

    Raises:
        DataError: If there is no such kind.
    """
    kind = argument or "communities"
    if kind not in KINDS:
        raise DataError(f"karate:{argument}: it is one of {', '.join(KINDS)}")
    graph, right, in_training = _communities() if kind == "communities" else _factions()
    labels = [f"{KINDS[kind]} {group}" for group in range(int(right.max()) + 1)]
    described = (
        f"Zachary's karate club: {len(right)} members, of {int(in_training.sum())} of whom the {kind} are told; "
        "validation is on these, too."
    )
    parts = {
        "train": [Example(graph, right.where(in_training, IGNORED))],
        "validation": [Example(graph, right.where(in_training, IGNORED))],
        "test": [Example(graph, right.where(~in_training, IGNORED))],
    }
    about = DatasetInfo("karate", described, fingerprint([kind, *map(str, right.tolist())]))
    return GraphsCorpus(about, spec, GraphTask("tag", "class", labels, graph.x.shape[1], metric="-loss"), parts)


def _communities() -> tuple[GraphInputs, Tensor, Tensor]:
    """Give the graph, the community of each member, and whose is known in training."""
    import_pyg()
    from torch_geometric.datasets import KarateClub

    data = KarateClub()[0]
    return GraphInputs(data.x, data.edge_index), data.y, data.train_mask


def _factions() -> tuple[GraphInputs, Tensor, Tensor]:
    import networkx

    club = networkx.karate_club_graph()
    right = torch.tensor([int(club.nodes[member]["club"] == "Officer") for member in club])
    in_training = torch.zeros(len(right), dtype=torch.bool)
    in_training[list(LEADERS)] = True
    return _communities()[0], right, in_training
