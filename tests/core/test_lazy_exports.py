"""Packages whose public names are imported at first use."""

import ast
import sys
from importlib import import_module
from pathlib import Path

import pytest

from zoo.core.lazy_exports import attach

ROOT = Path(__file__).parents[2]
LINKS = ("core", "plugins")
STUBS = [stub for stub in (ROOT / "zoo").rglob("*/__init__.pyi") if stub.relative_to(ROOT).parts[1] not in LINKS]
STUBS += [*(ROOT / "core").glob("__init__.pyi"), *(ROOT / "plugins").rglob("__init__.pyi")]
FOLDERS = [".".join(stub.parent.relative_to(ROOT).parts) for stub in sorted(STUBS)]
PACKAGES = ["zoo", *(folder if folder.startswith("zoo") else f"zoo.{folder}" for folder in FOLDERS)]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_that_of_its_module(package: str) -> None:
    stub = Path(str(import_module(package).__file__)).with_suffix(".pyi")
    for node in ast.parse(stub.read_text(encoding="utf-8")).body[1:]:
        assert isinstance(node, ast.ImportFrom), ast.unparse(node)
        assert (node.module or "").startswith(package), f"{node.module} is not a part of {package}"
        for alias in node.names:
            assert alias.asname == alias.name, f"{alias.name} as {alias.asname}: the stub shows it to no type checker"
            # zoo.plugins is the package, which can be called, once a plugin is imported
            if node.module != package and (package, alias.name) != ("zoo", "plugins"):
                found = getattr(import_module(package), alias.name)
                assert found is getattr(import_module(node.module or ""), alias.name)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_public_name_stands_in_a_stub_twice(package: str) -> None:
    names = import_module(package).__all__
    stub = Path(str(import_module(package).__file__)).with_suffix(".pyi").read_text(encoding="utf-8")
    assert stub.count(" as ") == len(names) == len(set(names))
    assert set(names) <= set(dir(import_module(package)))


def test_a_name_is_imported_at_first_use_and_an_unknown_one_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.pyi").write_text("from shop.fruit import apple as apple, pear\n")
    (tmp_path / "shop" / "__init__.py").write_text("")
    (tmp_path / "shop" / "fruit.py").write_text("apple, pear = 'green', 'yellow'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    getattribute, names, public = attach("shop", str(tmp_path / "shop" / "__init__.py"))
    assert names() == public == ["apple"]  # a plain import is not public in a stub
    assert "shop.fruit" not in sys.modules
    assert getattribute("apple") == "green"
    with pytest.raises(AttributeError, match="module 'shop' has no attribute 'pear'"):
        getattribute("pear")
