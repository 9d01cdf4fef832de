"""Packages whose public names are imported at first use."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

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
        module = node.module or ""  # its own, or a file of zoo/, which is in no package that plugins import from
        assert module.startswith(package) or (ROOT / f"{module.replace('.', '/')}.py").parent == ROOT / "zoo", module
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


@pytest.mark.parametrize("package", PACKAGES)
def test_a_stub_is_read_as_python_reads_it(package: str) -> None:
    stub = Path(str(import_module(package).__file__)).with_suffix(".pyi")
    imports = [node for node in ast.parse(stub.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)]
    assert import_module(package).__all__ == sorted(alias.name for node in imports for alias in node.names)


SHOP = {
    "__init__.py": """from zoo.core.lazy_exports import attach
__getattr__, __dir__, __all__ = attach(__name__, __file__)
""",
    "__init__.pyi": """from shop.fruit import apple as apple, pear
from shop import tools as tools
from shop.tools import (  # two in brackets
    hammer as hammer,
    # nail as nail,
    saw as blade,
    screw as screw
)
import sys
""",
    "fruit.py": "apple, pear = 'green', 'yellow'\n",
    "tools.py": "hammer, saw, screw = 'h', 's', 'c'\n",
}


@pytest.fixture(params=["folder", "zip"])
def shop(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a package with a stub, from a folder and from a zip file."""
    place = tmp_path
    if request.param == "zip":
        place = tmp_path / "shop.zip"
        with ZipFile(place, "w") as archive:
            for name, source in SHOP.items():
                archive.writestr(f"shop/{name}", source)
    else:
        (tmp_path / "shop").mkdir()
        for name, source in SHOP.items():
            (tmp_path / "shop" / name).write_text(source)
    monkeypatch.syspath_prepend(str(place))
    for name in ("shop", "shop.fruit", "shop.tools"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield import_module("shop")
    for name in ("shop", "shop.fruit", "shop.tools"):
        sys.modules.pop(name, None)


def test_a_name_is_imported_at_first_use_and_an_unknown_one_is_an_error(shop: Any) -> None:
    assert dir(shop) == shop.__all__ == ["apple", "hammer", "screw", "tools"]  # a plain import is not public in a stub
    assert "shop.fruit" not in sys.modules
    assert shop.apple == "green"
    assert (shop.hammer, shop.tools.saw) == ("h", "s")
    for name in ("pear", "blade", "nail", "sys"):
        with pytest.raises(AttributeError, match=f"module 'shop' has no attribute '{name}'"):
            getattr(shop, name)


def test_the_start_imports_no_parser() -> None:
    code = "import sys; before = {*sys.modules}; import zoo.core; print(*({*sys.modules} - before))"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = {*done.stdout.split()}
    assert {"zoo", "zoo.core", "zoo.core.lazy_exports", "zoo.version"} <= loaded
    assert not loaded & {"ast", "typing", "re", "pathlib", "inspect", "dataclasses", "torch"}
