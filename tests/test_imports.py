"""Who imports whom, and what is not imported until it is needed."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = {"core": "zoo.core", "plugins": "zoo.plugins", "zoo": "zoo"}
HEAVY = (
    "torch", "timm", "torchaudio", "torch_geometric", "sklearn", "matplotlib", "lightning_fabric", "numpy", "datasets",
    "pyarrow",
)  # fmt: skip


def files() -> Iterator[tuple[str, Path]]:
    """Give each module of the house by its import name; the links in zoo/ lead to what is seen already."""
    for folder, package in FOLDERS.items():
        for path in (ROOT / folder).rglob("*.py"):
            inside = path.relative_to(ROOT / folder).with_suffix("").parts
            if folder != "zoo" or inside[0] not in ("core", "plugins"):
                yield ".".join((package, *inside)).removesuffix(".__init__"), path


@cache
def parsed(path: Path) -> ast.Module:
    """Read a file once for all tests."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> frozenset[str]:
    """Give what a file imports from the house, wherever in the file, except for type checkers only."""
    found: set[str] = set()
    nodes: list[ast.AST] = [parsed(path)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        nodes += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            known = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else node.module or "" for name in known}
    return frozenset(found)


MODULES = dict(files())


def inside(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def wrong_way(name: str, other: str) -> str | None:
    """Say why a module may not import another; None where it may."""
    if inside(other, "core"):
        return f"{name} imports {other}: write zoo.core"
    if other.split(".")[0] == "plugins":
        return f"{name} imports {other}: write zoo.plugins"
    if not inside(other, "zoo"):
        return None
    if inside(name, "zoo.core"):
        return None if inside(other, "zoo.core") else f"the engine ({name}) knows nothing of {other}"
    if not inside(other, "zoo.plugins"):
        return None
    if not inside(name, "zoo.plugins"):
        return f"{name} reaches plugins through hooks only, not {other}"
    own, their = (".".join(each.split(".")[:3]) for each in (name, other))
    shared = f"{their}.plugin" not in MODULES  # a folder that several plugins use, and that is none itself
    return None if own == their or shared else f"plugin {name} imports plugin {other}"


def test_imports_go_one_way() -> None:
    said = {wrong_way(name, other) for name, path in MODULES.items() for other in imports(path)}
    assert not said - {None}


@cache
def public() -> dict[str, set[str]]:
    """Give the public names of each package that has a stub, and of the modules that a stub shows."""
    stubs = {name: path.with_suffix(".pyi") for name, path in MODULES.items() if path.with_suffix(".pyi").exists()}
    names: dict[str, set[str]] = {}
    for package, stub in stubs.items():
        for node in parsed(stub).body:
            if isinstance(node, ast.ImportFrom):
                names.setdefault(package, set()).update(alias.name for alias in node.names)
    for module in [f"{package}.{name}" for package, shown in names.items() for name in shown]:
        if module in MODULES and module not in stubs and module != "zoo.plugins":
            body = parsed(MODULES[module]).body
            defined = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
            names[module] = {name for name in defined if not name.startswith("_")}
    return names


def private(node: ast.AST) -> str | None:
    """Say what of the house a statement or an entry of a plugin names that is not public; None where it is."""
    if isinstance(node, ast.Import):
        return ast.unparse(node) if any(alias.name.startswith("zoo.") for alias in node.names) else None
    if isinstance(node, ast.ImportFrom) and inside(node.module or "", "zoo"):
        hidden = {alias.name for alias in node.names} - public().get(node.module or "", set())
        known = inside(node.module or "", "zoo.plugins") or not hidden
        return None if known else f"{node.module} does not export {hidden}: add them to an __init__.pyi"
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        entry = re.fullmatch(r"(zoo(?:\.\w+)*):(\w+)", node.value)
        if entry and not inside(entry[1], "zoo.plugins") and entry[2] not in public().get(entry[1], set()):
            return f"{node.value} is not public"
    return None


def test_plugins_import_public_names_only() -> None:
    plugins = [name for name in MODULES if inside(name, "zoo.plugins") and name != "zoo.plugins"]
    found = [(name, private(node)) for name in plugins for node in ast.walk(parsed(MODULES[name]))]
    assert not [f"{name}: {said}" for name, said in found if said]


@pytest.mark.parametrize(
    "name", [name for name in MODULES if name.endswith(".plugin") or name == "zoo.registry.builtin"]
)
def test_what_plugins_name_is_told_without_heavy_libraries(name: str) -> None:
    hooks = ("zoo_models", "zoo_attentions", "zoo_sources", "zoo_studies", "zoo_comparisons", "zoo_suites")
    assert not loaded_after(f"import {name}; [list(h()) for k, h in vars({name}).items() if k in {hooks}]")


def loaded_after(code: str, heavy: tuple[str, ...] = HEAVY) -> set[str]:
    """Run code in a new process and give the heavy libraries it imported."""
    script = f"import sys\n{code}\nprint('\\nloaded', *(m for m in {heavy} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


@pytest.mark.parametrize(
    "code",
    [
        "import zoo",
        "import zoo; zoo.list_models()",
        "import zoo; zoo.info('vit-small'); zoo.plugins()",
        "import zoo\ntry: zoo.create('vit-smal')\nexcept zoo.UnknownModelError: pass",
        "import zoo; zoo.ModelSpec, zoo.hookimpl, zoo.Registry, zoo.bench, zoo.core",
        "from zoo.cli.app import main; sys.argv = ['zoo', 'list']\ntry: main()\nexcept SystemExit: pass",
        "from zoo.cli.app import main; sys.argv = ['zoo', 'info', 'vit-small']\ntry: main()\nexcept SystemExit: pass",
        "from zoo.cli.app import main; sys.argv = ['zoo', 'bench', '--help']\ntry: main()\nexcept SystemExit: pass",
    ],
)
def test_looking_around_imports_nothing_heavy(code: str) -> None:
    assert not loaded_after(code)


def test_a_model_answers_without_the_compiler_of_torch() -> None:
    """Its import takes as long as the rest of the start of a command."""
    names = ("vit-micro", "bert-micro", "decoder-tiny", "speech-tiny")
    assert not loaded_after(f"import zoo\nfor n in {names}: zoo.create(n)(*zoo.example(n))", ("torch._dynamo",))


def test_every_package_is_in_the_wheel() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        listed = tomllib.load(file)["tool"]["setuptools"]["packages"]
    found = {name for name, path in MODULES.items() if path.name == "__init__.py"}
    assert sorted(listed) == sorted(found)


def test_every_data_file_is_in_the_wheel() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        patterns = tomllib.load(file)["tool"]["setuptools"]["package-data"]
    for package, path in MODULES.items():
        shipped = (*patterns["*"], *patterns.get(package, ()))
        if path.name == "__init__.py":
            data = [each for each in path.parent.iterdir() if each.is_file() and each.suffix != ".py"]
            left = [each.name for each in data if not any(map(each.match, shipped))]
            assert not left, f"package-data of {package} lacks {left}"


def test_every_file_lies_in_a_package() -> None:
    assert all((path.parent / "__init__.py").exists() for path in MODULES.values())


ORDER = {
    "zoo": "core spec version errors names hookspecs registry weights factory data answers pipeline deploy training "
    "pages serve bench viz evaluation scaffold plugin_check cli testing plugins",
    "zoo.core": "errors deprecation special_tokens ops transforms patterns tokens scoring positions backends cache "
    "engine flops streaming layers losses mechanisms generation models",
    "zoo.core.generation": "prompt constraints loop beam_search",
    "zoo.core.backends": "costs problem banded edges",
    "zoo.core.mechanisms": "abilities recurrence efficient alignment",
    "zoo.core.ops": "first_order onednn int8 recurrence",
    "zoo.evaluation": "judge figures tasks collect intervals report evaluation api",
    "zoo.cli": "arguments train models answering looking authoring app",
    "zoo.data": "sequences cache progress source_options splits batches metrics labelling tables python",
    "zoo.data.tables": "table sources",
    "zoo.training": "config optimization distributed objective fine_tuning losses resume callbacks loop trainer api",
    "zoo.bench": "grid study speed engine recurrences export seeds gpu products data decision learning_curve backtest "
    "length attention approximation positions fine_tuning serve",
    "zoo.bench.learning_curve": "contestants training results report plan decide execution command",
    "zoo.viz": "recorder methods explorer",
    "zoo.plugins": "shared vision text speech graph conformer caption joined",
    "zoo.plugins.caption": "sources models data studies plugin",
    "zoo.plugins.joined": "bench plugin",
    "zoo.plugins.shared": "text audio images",
    "zoo.plugins.shared.audio": "config lengths stems asr",
    "zoo.plugins.text": "sources tokens models convert peers io data studies bench plugin",
    "zoo.plugins.text.bench": "int8",
    "zoo.plugins.text.data": "corpus file_readers labelled_corpus parallel_corpus synthetic seq2seq",
    "zoo.plugins.speech": "sources models convert peers io data cli bench plugin",
    "zoo.plugins.speech.data": "audio_store corpus transcripts synthetic",
    "zoo.plugins.vision": "sources read_image image_source data corpora timm_methods plugin",
    "zoo.plugins.vision.data": "pictures drawn folders augmentation",
    "zoo.plugins.graph.data": "storage examples corpus",
    "zoo.plugins.graph": "requirements sources structure tokens layers models scale pyg io data descriptions "
    "studies bench plugin",
}
"""Parts of a package, bottom-up: all folders, some files. Each imports only those before it, also through files."""


@cache
def arrows() -> dict[str, set[tuple[str, str]]]:
    """Give the imports between the parts (files and folders) of each package, the package's name in front."""
    found: dict[str, set[tuple[str, str]]] = {}
    for name, path in MODULES.items():
        for other in imports(path):
            if other not in MODULES or other == name:
                continue
            own, their = name.split("."), other.split(".")
            shared = next((n for n, (a, b) in enumerate(zip(own, their, strict=False)) if a != b), None)
            if shared is not None:  # otherwise one of them is the package of the other
                found.setdefault(".".join(own[:shared]), set()).add((own[shared], their[shared]))
    return found


def reached(package: str, part: str) -> set[str]:
    """Give the parts in ORDER that a part imports, itself or through files that ORDER does not list."""
    order, found = ORDER[package].split(), set[str]()
    ways = [their for own, their in arrows().get(package, ()) if own == part]
    while ways:
        way = ways.pop()
        if way not in found:
            found.add(way)
            ways += [
                their for own, their in arrows().get(package, ()) if own == way and way not in ORDER[package].split()
            ]
    return found & set(order)


@pytest.mark.parametrize("package", ORDER)
def test_folders_import_only_folders_below_them(package: str) -> None:
    order = ORDER[package].split()
    assert all(f"{package}.{part}" in MODULES for part in order)
    for own in order:
        above = reached(package, own) - {*order[: order.index(own)]}
        assert not above, f"in {package}, {own} imports {above}, which must come before it"


def test_every_folder_has_a_place_in_the_order() -> None:
    folders = [name for name, path in MODULES.items() if path.name == "__init__.py" and name != "zoo"]
    parts = [name.rpartition(".") for name in folders]
    assert not [f"{package}.{folder}" for package, _, folder in parts if folder not in ORDER.get(package, "").split()]


def test_no_module_imports_the_package_it_lies_in() -> None:
    """What such an import uses may lie in any folder, so that the order would not see it; plugins stand above all."""
    for name, path in MODULES.items():
        packages = {other for other in imports(path) if other != name and inside(name, other)}
        assert packages <= ({"zoo"} if inside(name, "zoo.plugins") else set()), f"{name} imports {packages}"


def test_files_and_folders_import_each_other_in_no_circle() -> None:
    for package, arrows_inside in arrows().items():
        after: dict[str, set[str]] = {}
        for own, their in arrows_inside:
            after.setdefault(own, set()).add(their)
        try:
            list(TopologicalSorter(after).static_order())
        except CycleError as error:
            pytest.fail(f"in {package}: {' imports '.join(reversed(error.args[1]))}")
