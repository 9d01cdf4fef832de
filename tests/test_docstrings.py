"""Every public method says what it does, or overrides one that does, whose docstring `help` shows for it."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = [path for folder in ("core", "plugins", "zoo") for path in (ROOT / folder).rglob("*.py")]
CLASSES: dict[str, list[ast.ClassDef]] = {}
for tree in (ast.parse(path.read_text(encoding="utf-8")) for path in FILES):
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            CLASSES.setdefault(node.name, []).append(node)


def methods(cls: ast.ClassDef) -> list[ast.FunctionDef]:
    return [part for part in cls.body if isinstance(part, ast.FunctionDef) and not part.name.startswith("_")]


def is_overload(method: ast.FunctionDef) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "overload" for each in method.decorator_list)


def inherited(cls: ast.ClassDef) -> set[str]:
    """List what the classes that this one names as its bases, and theirs, document."""
    names = (base.value if isinstance(base, ast.Subscript) else base for base in cls.bases)
    bases = [each for name in names if isinstance(name, ast.Name) for each in CLASSES.get(name.id, ())]
    own = {method.name for base in bases for method in methods(base) if ast.get_docstring(method)}
    return own.union(*map(inherited, bases))


def test_every_public_method_is_documented() -> None:
    missing = [
        f"{cls.name}.{method.name}"
        for each in CLASSES.values()
        for cls in each
        for method in methods(cls)
        if not cls.name.startswith("_") and not ast.get_docstring(method) and not is_overload(method)
        if method.name not in inherited(cls)
    ]
    assert not missing
    assert "mask" in inherited(CLASSES["Window"][0])
