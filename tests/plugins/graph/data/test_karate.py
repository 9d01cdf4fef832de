from typing import Any

import networkx
import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment
from torch_geometric.datasets import KarateClub

import zoo
from zoo.core.losses.loss import IGNORED
from zoo.errors import DataError
from zoo.plugins.graph.data.karate import open_karate

SPEC = zoo.info("gat-cora")


def test_four_communities_are_told_one_of_each_and_thirty_asked() -> None:
    corpus = open_karate("", SPEC, 0, "")
    ((graph, told),), ((_, asked),) = corpus.parts["train"], corpus.parts["test"]
    assert sorted(told[told != IGNORED].tolist()) == [0, 1, 2, 3]
    assert int((asked != IGNORED).sum()) == 30
    assert not bool(((told != IGNORED) & (asked != IGNORED)).any())
    assert graph.edge_index.shape == (2, 156)


def test_the_factions_are_those_of_networkx_and_the_leaders_are_told() -> None:
    ((_, told),) = open_karate("factions", SPEC, 0, "").parts["train"]
    ((_, asked),) = open_karate("factions", SPEC, 0, "").parts["test"]
    club = networkx.karate_club_graph()
    assert (told != IGNORED).nonzero().flatten().tolist() == [0, 33]
    right = [int(club.nodes[member]["club"] == "Officer") for member in club]
    assert torch.where(told == IGNORED, asked, told).tolist() == right


def test_members_of_both_libraries_are_the_same() -> None:
    ((graph, _),) = open_karate("factions", SPEC, 0, "").parts["train"]
    club = networkx.karate_club_graph()
    edges = {frozenset(edge) for edge in graph.edge_index.T.tolist()}
    assert edges == {frozenset(edge) for edge in club.edges}


def test_the_division_of_highest_modularity_tells_31_members_and_others_of_lower_modularity_tell_all() -> None:
    right = KarateClub()[0].y.numpy()
    club = networkx.Graph(networkx.karate_club_graph().edges)  # without weights
    divisions = [networkx.community.louvain_communities(club, seed=seed) for seed in range(20)]
    told = []
    for division in divisions:
        common = np.array([[sum(right[list(part)] == group) for group in range(4)] for part in division])
        told.append(common[linear_sum_assignment(common, maximize=True)].sum())
    values = [networkx.community.modularity(club, division) for division in divisions]
    assert told[int(np.argmax(values))] == 31
    assert max(told) == len(right)


def test_another_kind_is_refused() -> None:
    with pytest.raises(DataError, match="karate:clubs: it is one of communities, factions"):
        open_karate("clubs", SPEC, 0, "")


@pytest.mark.slow
def test_the_factions_are_found_from_the_leaders() -> None:
    how: dict[str, Any] = {"steps": 30, "optimizer": "adam", "learning_rate": 0.005, "dropout": 0.0}
    right = [zoo.train("gat-cora", "karate:factions", seed=seed, **how).scores["accuracy"] for seed in range(20)]
    assert sum(right) / 20 >= 0.95
