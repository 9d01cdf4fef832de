"""No modality is named in `zoo/`: what is special about one is told by its plugin's specs."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1] / "zoo"
MODALITIES = {"vision", "text", "speech", "graph"}
ALLOWED = {
    "registry/discovery.py": {"vision", "text", "speech", "graph", "zoo.plugins."},  # the built-in plugins
    "factory/from_hub.py": {"timm:"},  # a config.json that timm wrote names its architecture, and no plugin
    "cli/predict.py": {"text"},  # a key of the JSON that is printed
    "cli/generate.py": {"text"},  # the same
}


def named(source: str) -> set[str]:
    """Find the modalities and plugins that a file's strings and imports name; docstrings do not count."""
    tree = ast.parse(source)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    strings = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
    }
    imports = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imports |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    plugins = {text for text in strings | imports if text.startswith(("zoo.plugins.", "timm:"))}
    return strings & MODALITIES | plugins


def test_names_are_found_in_strings_and_imports_and_not_in_prose() -> None:
    assert named('"""Of vision."""\nif spec.modality == "vision":\n    pass') == {"vision"}
    assert named('from zoo.plugins.text import plugin\nf"timm:{name}"') == {"zoo.plugins.text", "timm:"}


def test_no_modality_is_named_in_zoo() -> None:
    files = [path for part in sorted(ROOT.iterdir()) if not part.is_symlink() for path in sorted(part.rglob("*.py"))]
    files += sorted(ROOT.glob("*.py"))
    assert len(files) > 50
    found = {path.relative_to(ROOT).as_posix(): named(path.read_text()) for path in files}
    assert {path: names for path, names in found.items() if names} == ALLOWED
