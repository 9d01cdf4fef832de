"""What positions add to nodes."""

from typing import Any

import pytest
import torch
from torch import nn

import zoo
from zoo.core import ConfigError
from zoo.plugins.graph.structure.edge_rules import EdgeRules
from zoo.plugins.graph.structure.graph_inputs import GraphInputs
from zoo.plugins.graph.structure.graph_pattern import GraphStructure, graph_structure
from zoo.plugins.graph.tokens.positional_encodings import (
    POSITIONS,
    Degree,
    Laplacian,
    RandomWalk,
    node_position,
    numbers,
)
from zoo.plugins.graph.tokens.spectral import random_walk

pytestmark = pytest.mark.usefixtures("float64")

PATH = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]])


def graphs(batch: bool = True) -> GraphStructure:
    given = GraphInputs(torch.zeros(5, 0), PATH.clone(), None, torch.tensor([0, 0, 0, 1, 1]) if batch else None)
    return graph_structure(given, EdgeRules())


def test_walks_are_projected_and_computed_once() -> None:
    position, read = RandomWalk(4, 3), graphs()
    returns = torch.tensor([[0, 0.5, 0], [0, 1, 0], [0, 0.5, 0], [0, 1, 0], [0, 1, 0]])
    torch.testing.assert_close(position(read), returns @ position.project.weight.T)
    assert numbers(read, random_walk, 3) is numbers(read, random_walk, 3)


@torch.no_grad()
def test_signs_are_random_in_training_only_and_one_for_a_graph() -> None:
    position, read = Laplacian(3, 3), graphs()
    nn.init.eye_(position.project.weight)
    still = position.eval()(read)
    torch.testing.assert_close(position(read), still)
    seen = set()
    for seed in range(40):
        torch.manual_seed(seed)
        moved = position.train()(read)
        torch.testing.assert_close(moved.abs(), still.abs())
        signs = [(moved[part] * still[part]).sum(0).sign() for part in (slice(3), slice(3, 5))]
        assert all(
            torch.equal(moved[part], still[part] * sign.where(sign != 0, 1))
            for part, sign in zip((slice(3), slice(3, 5)), signs, strict=True)
        )
        seen.add((float(signs[0][0]), float(signs[1][0])))
    assert len(seen) == 4


def test_degrees_are_counted_in_both_directions_up_to_the_last() -> None:
    given = GraphInputs(torch.zeros(4, 0), torch.tensor([[0, 0, 0, 1], [1, 2, 3, 2]]))
    position = Degree(4, 2)
    into, out = torch.tensor([0, 1, 2, 1]), torch.tensor([2, 1, 0, 0])
    found = position(graph_structure(given, EdgeRules()))
    torch.testing.assert_close(found, position.into.weight[into] + position.out.weight[out])


@pytest.mark.parametrize("name", POSITIONS)
def test_equal_edges_that_count_once_count_once_in_positions(name: str) -> None:
    edges, x = torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 3, 2]]), torch.randn(4, 6)
    twice = torch.cat([edges[:, 2:3], edges], dim=1)
    given: dict[str, Any] = {"node_features": 6, "edge_features": 0, "position": name}
    once = zoo.create("graph-tiny", duplicates="once", **given).eval()
    torch.testing.assert_close(once(x, twice), once(x, edges))
    each = zoo.create("graph-tiny", duplicates="each", **given).eval()
    assert not torch.allclose(each(x, twice), each(x, edges))


@pytest.mark.parametrize("name", [name for name in POSITIONS if name != "none"])
def test_every_position_gives_a_vector_for_each_node(name: str) -> None:
    position = node_position(name, 6, 3)
    assert position is not None
    assert position(graphs()).shape == position(graphs(batch=False)).shape == (5, 6)
    nothing = graph_structure(GraphInputs(torch.zeros(0, 0), PATH[:, :0]), EdgeRules())
    assert position(nothing).shape == (0, 6)


def test_what_is_no_position_of_nodes_is_refused() -> None:
    assert node_position("none", 4, 0) is None
    with pytest.raises(ConfigError, match="position='rotary' is not one of random-walk, laplacian, degree, none"):
        node_position("rotary", 4, 3)
    with pytest.raises(ConfigError, match="position_dim=0: at least 1 for position='degree'"):
        node_position("degree", 4, 0)
