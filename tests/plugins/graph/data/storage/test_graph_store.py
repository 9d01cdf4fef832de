"""Graphs in flat arrays: the batches of PyTorch Geometric, in a fraction of the room, shared by processes."""

import json
import pickle
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Batch, Data, OnDiskDataset

from zoo.plugins.graph.data.molecules import well_known
from zoo.plugins.graph.data.storage.graph_files import LinesFile, TableFile
from zoo.plugins.graph.data.storage.graph_store import GraphStore
from zoo.plugins.graph.io.smiles import of_smiles

SMILES = list(well_known().values())[:300:3]


@pytest.fixture
def store(cache: Path, tmp_path: Path) -> GraphStore:
    (tmp_path / "some.csv").write_text("smiles\n" + "\n".join(SMILES))
    return TableFile(tmp_path / "some.csv", ",").opened()


def data(text: str) -> Data:
    graph = of_smiles(text)
    return Data(x=graph.x, edge_index=graph.edge_index, edge_attr=graph.edge_attr)


def test_a_batch_is_that_of_pytorch_geometric(store: GraphStore) -> None:
    places = [7, 0, 99, 7]
    wanted = Batch.from_data_list([data(SMILES[place]) for place in places])
    x, index, attr, batch = store.batch(places)
    assert attr is not None
    for one, other in ((x, wanted.x), (index, wanted.edge_index), (attr, wanted.edge_attr), (batch, wanted.batch)):
        assert one.dtype == other.dtype
        assert torch.equal(one, other)
    assert store.sizes(torch.tensor(places).numpy()).tolist() == [
        len(each.x) + each.edge_index.shape[1] for each in map(data, (SMILES[place] for place in places))
    ]


def test_it_takes_a_fraction_of_the_room_that_pytorch_geometric_s_set_on_disk_does(
    store: GraphStore, tmp_path: Path
) -> None:
    peer = OnDiskDataset(str(tmp_path / "peer"))
    peer.extend([data(text) for text in SMILES])
    peer.close()
    room = sum(file.stat().st_size for file in (tmp_path / "peer").rglob("*.db"))
    assert store.folder is not None
    assert 4 * sum(store.arrays[name].nbytes for name in store.arrays) < room


def test_another_process_gets_the_path_of_mapped_arrays_and_arrays_in_memory_as_they_are(store: GraphStore) -> None:
    sent = pickle.dumps(store)
    assert len(sent) < 500
    held = GraphStore({name: array.copy() for name, array in store.arrays.items()}, store.about)
    for each in (pickle.loads(sent), pickle.loads(pickle.dumps(held))):
        assert torch.equal(each.batch([3, 1])[1], store.batch([3, 1])[1])


def test_a_graph_alone_is_the_same_tensor_for_a_while(store: GraphStore) -> None:
    assert store.alone(3).x is store.alone(3).x


def test_graphs_without_edges_and_without_features_are_graphs(cache: Path, tmp_path: Path) -> None:
    rows = [{"edges": [], "nodes": 2, "target": 1}, {"edges": [[0, 1]], "target": 2}]
    (tmp_path / "few.jsonl").write_text("\n".join(map(json.dumps, rows)))
    x, index, attr, batch = LinesFile(tmp_path / "few.jsonl").opened().batch([0, 1, 0])
    assert (x.shape, attr) == ((6, 0), None)
    assert index.tolist() == [[2], [3]]
    assert batch.tolist() == [0, 0, 1, 1, 2, 2]
