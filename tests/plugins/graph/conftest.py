import json
import pickle
from collections.abc import Callable
from pathlib import Path

import networkx
import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

CLASSES, TRAIN, REST, TEST = 3, 6, 520, 20


def _write(folder: Path, name: str) -> torch.Tensor:
    """Write a ring of nodes in blocks of one class each, whose words say the class; give the classes."""
    count = REST + TEST
    y = torch.arange(count) % CLASSES
    words = np.eye(CLASSES)[y] + np.eye(CLASSES, k=1)[y] * 0.5
    labels = np.eye(CLASSES, dtype=np.int32)[y]
    parts = {
        "x": csr_matrix(words[:TRAIN]), "allx": csr_matrix(words[:REST]), "tx": csr_matrix(words[REST:]),
        "y": labels[:TRAIN], "ally": labels[:REST], "ty": labels[REST:],
        "graph": {node: [(node + CLASSES) % count, (node - CLASSES) % count] for node in range(count)},
    }  # fmt: skip
    for ending, content in parts.items():
        (folder / f"ind.{name}.{ending}").write_bytes(pickle.dumps(content))
    (folder / f"ind.{name}.test.index").write_text("".join(f"{node}\n" for node in range(REST, count)))
    return y


@pytest.fixture
def write_planetoid() -> Callable[[Path, str], torch.Tensor]:
    """Give what writes a small graph of citations in the files of the published ones."""
    return _write


@pytest.fixture
def write_ppi() -> Callable[[Path], None]:
    """Give what writes two small graphs for each part in the files of the proteins."""

    def write(folder: Path) -> None:
        raw = folder / "raw"
        raw.mkdir()
        ring = networkx.DiGraph(networkx.compose(networkx.cycle_graph(4), networkx.cycle_graph([4, 5, 6])))
        for split in ("train", "valid", "test"):
            (raw / f"{split}_graph.json").write_text(json.dumps(networkx.node_link_data(ring, edges="links")))
            np.save(raw / f"{split}_feats.npy", np.ones((7, 3)))
            np.save(raw / f"{split}_labels.npy", np.eye(7, 2))
            np.save(raw / f"{split}_graph_id.npy", np.array([1, 1, 1, 1, 2, 2, 2]))

    return write


@pytest.fixture
def write_zinc() -> Callable[[Path], None]:
    """Give what writes two small molecules for each part in the files of ZINC."""

    def write(folder: Path) -> None:
        raw = folder / "raw"
        raw.mkdir()
        bonds = torch.tensor([[0, 1, 0], [1, 0, 2], [0, 2, 0]])
        molecule = {
            "atom_type": torch.tensor([0, 3, 27]),
            "bond_type": bonds,
            "logP_SA_cycle_normalized": torch.tensor([0.5]),
        }
        for split in ("train", "val", "test"):
            (raw / f"{split}.pickle").write_bytes(pickle.dumps([molecule] * 3))
            (raw / f"{split}.index").write_text("0,2\n")

    return write
