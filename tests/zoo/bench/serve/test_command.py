"""`zoo bench serve`."""

import re
from collections.abc import Callable

import pytest

from zoo.bench.serve.command import row
from zoo.bench.serve.load import Latency


def test_a_row_is_rounded() -> None:
    assert row("vit-tiny", "1 client", Latency(12.6, 3.14, 15.92, 7)) == "| `vit-tiny` | 1 client | 13 | 3.1 | 15.9 |"


@pytest.mark.slow
def test_a_table_is_measured(run: Callable[..., tuple[int, str, str]]) -> None:
    code, table, told = run("bench", "serve", "--models", "vit-micro", "--clients", "1,4", "--seconds", "0.3")
    assert code == 0, told
    rows = re.findall(r"^\| `vit-micro` \| (.*?) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", table, re.MULTILINE)
    assert [who for who, *_ in rows] == ["a loop, one by one", "1 client", "4 clients"]
    assert all(float(rate) > 0 and float(median) <= float(high) for _, rate, median, high in rows)
