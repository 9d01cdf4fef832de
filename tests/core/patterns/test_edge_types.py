"""`EdgeKinds`: which kinds there may be, and copies; what edges of a kind add is tested with the backend `edges`."""

import copy
import pickle

import pytest
import torch

from zoo.core import InputError
from zoo.core.patterns.edge_types import EdgeKinds
from zoo.core.patterns.edges import Edges

TRIANGLE = torch.tensor([[0, 1, 2, 2], [1, 2, 0, 2]])


def test_kinds_can_be_copied_when_they_were_used() -> None:
    kinds = EdgeKinds(torch.tensor([1, 0, 1, 1]), 2)
    csr = Edges(TRIANGLE).csr(3, 3, 0, 1)
    for again in (copy.deepcopy(kinds), pickle.loads(pickle.dumps(kinds))):
        assert again.places(csr).equal(kinds.places(csr))


def test_edges_of_no_such_kind_are_refused() -> None:
    with pytest.raises(InputError, match="edge 1 is of kind 2, and there are 2, from 0 on"):
        EdgeKinds(torch.tensor([0, 2, 5]), 2)
    with pytest.raises(InputError, match="edge 0 is of kind -1"):
        EdgeKinds(torch.tensor([-1]), 2)
