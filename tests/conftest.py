import os
from collections.abc import Iterator

import pytest
import torch

if "PYTEST_XDIST_WORKER" in os.environ:  # one process for each processor: threads would wait for each other
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _seeded() -> None:
    """Draw the same numbers in each test, whichever tests its process ran before."""
    torch.manual_seed(0)


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Keep tiny products from waiting for a second thread on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def float64() -> Iterator[None]:
    """Make tensors and models in float64, where two ways to compute agree to 1e-7 on every processor."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)
