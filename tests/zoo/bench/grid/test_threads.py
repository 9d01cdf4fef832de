from typing import Any

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from zoo.bench.grid.threads import VARIABLE, choose_threads, limited_threads, torch_threads
from zoo.errors import ConfigError


@pytest.mark.parametrize(
    ("asked", "records", "threads"),
    [
        (None, [], 1),
        (None, [{"threads": 2}, {"threads": 2}, {"threads": 4}, {}], 2),
        (None, [{"threads": 2, "error": "no memory"}], 1),
        (None, [{}], 1),
        ("3", [{"threads": 2}], 3),
        (" 4,2 ", [], 4),
        ("", [{"threads": 2}], 2),
    ],
)
def test_the_user_decides_then_the_results_there_are_then_one_thread(
    asked: str | None, records: list[dict[str, Any]], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if asked is not None:
        monkeypatch.setenv(VARIABLE, asked)
    assert choose_threads(records) == threads


@pytest.mark.parametrize("asked", ["many", "0", "-1", "1.5"])
def test_what_is_no_number_of_threads_is_refused(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, asked)
    with pytest.raises(ConfigError, match=f"OMP_NUM_THREADS='{asked}' is not a number of threads, .*: set it to 1"):
        choose_threads([])


def test_threads_are_limited_and_restored() -> None:
    np.ones((2, 2)) @ np.ones((2, 2))  # loads the BLAS
    torch.set_num_threads(2)
    with limited_threads(1):
        assert torch.get_num_threads() == 1
        assert {pool["num_threads"] for pool in threadpool_info()} == {1}
    assert torch.get_num_threads() == 2


def test_threads_of_torch_are_put_back() -> None:
    before = torch.get_num_threads()
    with torch_threads(1):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
