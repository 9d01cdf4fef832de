"""`zoo export`: a folder, and what is said about it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zoo.core.ops import products

pytestmark = pytest.mark.usefixtures("unchecked_shapes")


def test_a_model_with_drawn_weights_is_exported(run: Callable[..., Any], tmp_path: Path) -> None:
    folder = tmp_path / "out"
    code, out, err = run("export", "vit-micro", "--random", "--to", "pt2", "--out", str(folder))
    assert (code, out) == (0, f"saved in {folder}\n")
    assert "differs from PyTorch by" in err
    assert {path.name for path in folder.iterdir()} == {"model.pt2", "export.json", "run.py"}


def test_a_rule_of_products_that_there_is_not_is_told(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOO_PRODUCTS", "fast")
    monkeypatch.setattr(products, "chosen", products.chosen.__wrapped__)
    code, out, err = run("export", "vit-micro", "--random", "--to", "pt2", "--out", str(tmp_path / "out"))
    assert (code, out) == (2, "")
    assert "ZOO_PRODUCTS='fast' is not one of auto, mkl, onednn" in err


def test_a_model_without_weights_is_not_exported(run: Callable[..., Any], tmp_path: Path) -> None:
    code, out, err = run("export", "vit-micro", "--to", "pt2", "--out", str(tmp_path / "out"))
    assert (code, out) == (2, "")
    assert "No pretrained weights exist for vit-micro" in err
    assert "zoo export vit-micro --random" in err
    assert not (tmp_path / "out").exists()
