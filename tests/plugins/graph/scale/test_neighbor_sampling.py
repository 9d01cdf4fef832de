"""Batches of some nodes with some of those that they read."""

from importlib.util import find_spec

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.loader import RandomNodeLoader

import zoo
from zoo.errors import MissingLibraryError
from zoo.plugins.graph.scale import neighbor_sampling
from zoo.plugins.graph.scale.neighbor_sampling import NATIVE, neighbours

pytestmark = pytest.mark.usefixtures("float64")


def ring(nodes: int = 8) -> Data:
    place = torch.arange(nodes)
    return Data(x=torch.randn(nodes, 3), edge_index=torch.stack([place, place.roll(1)]), y=place)


def test_without_the_libraries_it_is_said_what_there_is_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbor_sampling, "find_spec", lambda name: None)
    with pytest.raises(
        MissingLibraryError, match=r"pyg-lib.*RandomNodeLoader.*zoo\.plugins\.graph\.scale\.blockwise_inference"
    ):
        neighbours(ring(), [2, 2], 4)


@pytest.mark.skipif(not any(map(find_spec, NATIVE)), reason=f"{' and '.join(NATIVE)} are not installed")
def test_all_neighbours_of_some_nodes_give_their_answers() -> None:
    model = zoo.create("gat-cora", node_features=3, num_classes=2, dim=4, num_heads=2).eval()
    data = ring()
    batch = next(iter(neighbours(data, [-1, -1], 3)))
    torch.testing.assert_close(model(batch)[:3], model(data)[batch.y[:3]])


def test_parts_of_a_graph_are_read_without_native_libraries() -> None:
    model = zoo.create("gat-cora", node_features=3, num_classes=2, dim=4, num_heads=2).eval()
    parts = list(RandomNodeLoader(ring(), num_parts=3))
    assert [len(model(part)) for part in parts] == [3, 3, 2]
