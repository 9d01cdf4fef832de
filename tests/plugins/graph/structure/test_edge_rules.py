"""Which edges are read: self-loops, direction and equal edges, with the features that belong to them."""

from typing import Any

import pytest
import torch
from torch import Tensor

from zoo.core import ConfigError, InputError
from zoo.plugins.graph.structure.edge_rules import EdgeRules

INDEX = torch.tensor([[0, 1, 1, 2, 2], [1, 0, 1, 0, 0]])
"""0 and 1 read each other, 1 itself, and 0 reads 2 twice."""
ATTR = torch.tensor([[1.0], [2.0], [3.0], [4.0], [6.0]])


def read(**rules: Any) -> tuple[list[tuple[int, int]], Tensor]:
    found = EdgeRules(**rules).read(INDEX, 3, 3)
    return list(map(tuple, found.edges.index.T.tolist())), found.features(ATTR)[:, 0]


GIVEN = [(0, 1), (1, 0), (1, 1), (2, 0), (2, 0)]


@pytest.mark.parametrize(
    ("loops", "edges", "features"),
    [
        ("keep", GIVEN, [1, 2, 3, 4, 6]),
        ("remove", [(0, 1), (1, 0), (2, 0), (2, 0)], [1, 2, 4, 6]),
        ("add", [*GIVEN, (0, 0), (2, 2)], [1, 2, 3, 4, 6, 4, 0]),
        ("replace", [(0, 1), (1, 0), (2, 0), (2, 0), (0, 0), (1, 1), (2, 2)], [1, 2, 4, 6, 4, 1, 0]),
    ],
)
def test_self_loops_are_a_choice(loops: str, edges: list[tuple[int, int]], features: list[float]) -> None:
    found, attr = read(self_loops=loops)
    assert found == edges
    torch.testing.assert_close(attr, torch.tensor(features, dtype=torch.float32))


@pytest.mark.parametrize(
    ("direction", "edges", "features"),
    [
        ("forward", GIVEN, [1, 2, 3, 4, 6]),
        ("backward", [(b, a) for a, b in GIVEN], [1, 2, 3, 4, 6]),
        ("both", [*GIVEN, (0, 2), (0, 2)], [1, 2, 3, 4, 6, 4, 6]),
    ],
)
def test_direction_is_a_choice(direction: str, edges: list[tuple[int, int]], features: list[float]) -> None:
    found, attr = read(direction=direction)
    assert found == edges
    torch.testing.assert_close(attr, torch.tensor(features, dtype=torch.float32))


@pytest.mark.parametrize(
    ("fill", "of_first"), [("sum", 12.0), ("mean", 4.0), ("min", 2.0), ("max", 6.0), ("mul", 48.0), (-1.0, -1.0)]
)
def test_added_loops_are_filled_by_choice(fill: Any, of_first: float) -> None:
    _, attr = read(self_loops="replace", fill=fill)
    assert float(attr[4]) == of_first


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize(("fill", "of_none"), [("sum", 0.0), ("mean", 0.0), ("min", 0.0), ("max", 0.0), ("mul", 1.0)])
def test_a_loop_of_a_node_that_no_edge_leads_to_is_filled_with_0_and_with_the_empty_product_1(
    fill: Any, of_none: float, direction: str
) -> None:
    _, attr = read(self_loops="replace", fill=fill, direction=direction)
    assert float(attr[-1]) == of_none  # of node 2


def test_each_feature_of_added_loops_has_a_number_of_its_own() -> None:
    attr = EdgeRules("replace", fill=(0.5, -1.0)).read(INDEX, 3, 3).features(torch.cat([ATTR, ATTR], dim=1))
    assert attr[4:].tolist() == [[0.5, -1.0]] * 3


def test_features_of_loops_pass_gradients_on() -> None:
    attr = ATTR.clone().requires_grad_()
    EdgeRules("replace").read(INDEX, 3, 3).features(attr)[4:].sum().backward()
    assert attr.grad is not None
    torch.testing.assert_close(attr.grad[:, 0], torch.tensor([1.0, 1 / 3, 0.0, 1 / 3, 1 / 3]))


def test_loops_belong_to_nodes_that_are_source_and_target() -> None:
    found = EdgeRules("replace").read(torch.tensor([[4], [0]]), 5, 2)
    assert found.edges.index.tolist() == [[4, 0, 1], [0, 0, 1]]


def test_equal_edges_are_refused_where_they_are_an_error() -> None:
    with pytest.raises(InputError, match=r"edge 4 is .*again"):
        EdgeRules(duplicates="error").read(INDEX, 3, 3)


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ({"self_loops": "some"}, "self_loops='some' is not one of keep, remove, add, replace"),
        ({"direction": "up"}, "direction='up' is not one of forward, backward, both"),
        ({"duplicates": "twice"}, "duplicates='twice' is not one of"),
        ({"fill": "median"}, "fill='median' is no number, no tuple of numbers, nor one of mean"),
    ],
)
def test_a_choice_that_there_is_not_is_refused(rules: dict[str, Any], text: str) -> None:
    made = object.__new__(EdgeRules)
    made.__dict__.update(vars(EdgeRules()) | rules)
    with pytest.raises(ConfigError, match=text):
        made.__post_init__()  # before it, the checks of types at run time refuse some, in tests only


def test_both_directions_between_two_kinds_are_refused() -> None:
    with pytest.raises(InputError, match="direction='both' of 5 sources and 2 targets"):
        EdgeRules(direction="both").read(torch.tensor([[4], [0]]), 5, 2)
