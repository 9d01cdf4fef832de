"""Memory of a process of its own."""

from functools import partial

import pytest
import torch

from zoo.bench.speed.memory import resident_bytes


@pytest.mark.slow
def test_a_process_holds_what_its_function_takes() -> None:
    few, many = (resident_bytes(partial(torch.ones, millions * 10**6)) for millions in (1, 51))
    assert 190e6 < many - few < 220e6
