import pickle
from collections.abc import Callable
from pathlib import Path

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
