"""`zoo export`: a folder, and what is said about it."""

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zoo
from zoo.core.ops import products

SCRIPT = Path(zoo.__file__).parent / "deploy" / "run.py"
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


def test_a_joined_model_without_weights_is_told_by_the_options_of_the_command(
    run: Callable[..., Any], tmp_path: Path
) -> None:
    name = "joined:vit-micro+decoder-tiny"
    code, out, err = run("export", name, "--to", "pt2", "--out", str(tmp_path / "out"))
    assert (code, out) == (2, "")
    assert f"zoo export {name} --random" in err
    assert "pretrained=" not in err


@pytest.fixture
def without_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide onnxruntime, and it alone, as where it is not installed."""
    find = importlib.util.find_spec

    def found(name: str, package: str | None = None) -> Any:
        return None if name == "onnxruntime" else find(name, package)

    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setattr("zoo.registry.entry_loading.find_spec", found)


@pytest.mark.usefixtures("without_onnxruntime")
@pytest.mark.parametrize("options", [(), ("--no-check", "--int8")])
def test_where_onnxruntime_is_missing_the_command_says_how_to_install_it(
    run: Callable[..., Any], tmp_path: Path, options: tuple[str, ...]
) -> None:
    code, out, err = run("export", "vit-micro", "--random", *options, "--out", str(tmp_path / "out"))
    assert (code, out) == (2, "")
    assert "exporting to ONNX" in err
    assert 'onnxruntime: pip install "attention-zoo[export]"' in " ".join(err.split())
    assert not list(tmp_path.iterdir())


def test_a_script_without_onnxruntime_says_how_to_install_it(tmp_path: Path) -> None:
    code = "import runpy, sys; sys.modules['onnxruntime'] = None; runpy.run_path(sys.argv[1], run_name='__main__')"
    command = [sys.executable, "-c", code, str(SCRIPT), "photo.jpg"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("run.py needs numpy and onnxruntime: pip install numpy onnxruntime")
    assert "Traceback" not in done.stderr
