"""Several rules of products in one study are told."""

import re
from pathlib import Path

import pytest

from zoo.bench.grid import products
from zoo.bench.grid.engine import Grid
from zoo.bench.grid.results_store import Store, key_of
from zoo.core.ops.products import chosen

WORK = f"{__name__}:work"
MANY = [{"x": x} for x in range(3)]


def work(config: dict[str, int]) -> dict[str, int]:
    return {"double": 2 * config["x"]}


def add(folder: Path, x: int, **result: object) -> None:
    Store(folder).add(key_of({"x": x}), {"x": x}, {"double": 2 * x, "threads": 1, **result})


def test_a_record_has_the_rule_beside_the_threads(tmp_path: Path) -> None:
    list(Grid(WORK, [{"x": 3}], Store(tmp_path), threads=1).run(workers=0))
    ((key, record),) = Store(tmp_path).records.items()
    assert (key, record["threads"], record["products"]) == (key_of({"x": 3}), 1, chosen())


def test_going_on_by_another_rule_is_told_where_there_is_something_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(tmp_path, 0, products="mkl")
    add(tmp_path, 1, products="mkl")
    monkeypatch.setattr(products, "chosen", lambda: "onednn")
    assert not Grid(WORK, MANY[:2], Store(tmp_path)).message
    said = r"^2 runs done before had ZOO_PRODUCTS=mkl, those to do have onednn: .*; ZOO_PRODUCTS=mkl goes on alike$"
    assert re.match(said, Grid(WORK, MANY, Store(tmp_path)).message)
    monkeypatch.setattr(products, "chosen", lambda: "mkl")
    assert not Grid(WORK, MANY, Store(tmp_path)).message


def test_results_of_several_rules_are_told_once_when_they_are_read(tmp_path: Path) -> None:
    add(tmp_path, 0)  # an old one, which does not say
    add(tmp_path / "shard", 1, products="mkl")
    add(tmp_path / "shard", 2, products="onednn", device="cuda:0")
    assert not Store(tmp_path, [tmp_path / "shard"]).message
    add(tmp_path / "shard", 3, products="onednn")
    store = Store(tmp_path, [tmp_path / "shard"])
    assert "several ways to multiply" in store.message
    assert store.message.endswith(": 1 run with ZOO_PRODUCTS=mkl, 1 run with ZOO_PRODUCTS=onednn")
    assert not Grid(WORK, [{"x": 4}], store).message
