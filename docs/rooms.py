"""Draw the folders of the house from the import statements, and list the public names by folder.

uv run python docs/rooms.py rewrites what stands between the marks `<!-- made: … -->` and `<!-- end -->` of the pages
here; tests/test_architecture.py fails while a page is out of date.
"""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = {"zoo.core": "core", "zoo.plugins": "plugins", "zoo": "zoo"}
MADE = re.compile(r"(<!-- made: (\w+) (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def folder_of(package: str) -> Path:
    """Give the folder that holds a package."""
    head = next(name for name in PACKAGES if f"{package}.".startswith(f"{name}."))
    return ROOT.joinpath(PACKAGES[head], *package.removeprefix(head).strip(".").split("."))


def rooms(package: str) -> list[str]:
    """Give the sub-packages of a package, without those that are packages of their own: the engine, the plugins."""
    found = (path.parent.name for path in folder_of(package).glob("*/__init__.py"))
    return sorted(name for name in found if f"{package}.{name}" not in PACKAGES)


def purpose(package: str) -> str:
    """Give the first sentence of a package's docstring."""
    text = ast.get_docstring(ast.parse((folder_of(package) / "__init__.py").read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split())


@cache
def imported(path: Path) -> frozenset[str]:
    """Give the modules that a file imports, wherever in it, except for type checkers only."""
    found: set[str] = set()
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(found)


@cache
def arrows(package: str) -> dict[str, set[str]]:
    """Give the rooms that each room of a package imports."""
    own = rooms(package)
    return {
        room: {
            other
            for path in folder_of(f"{package}.{room}").rglob("*.py")
            for name in imported(path)
            for other in own
            if other != room and f"{name}.".startswith(f"{package}.{other}.")
        }
        for room in own
    }


def reach(room: str, after: dict[str, set[str]]) -> set[str]:
    """Give all that a room imports, directly or through another."""
    return after[room].union(*(reach(other, after) for other in after[room]))


def picture(package: str) -> str:
    """Draw the imports between the rooms of a package; an arrow that follows from two others is left out."""
    after = arrows(package)
    lines = ["```mermaid", "flowchart TD"]
    for room, others in after.items():
        implied = set().union(*(reach(other, after) for other in others))
        lines += [f"    {room} --> {other}" for other in sorted(others - implied)] or [f"    {room}"]
    return "\n".join([*lines, "```", ""])


def table(package: str) -> str:
    """List the rooms of a package, those first that import the fewest."""
    after = arrows(package)
    order = sorted(after, key=lambda room: (len(reach(room, after)), room))
    lines = [f"| `{room}/` | {purpose(f'{package}.{room}')} | {', '.join(sorted(after[room]))} |" for room in order]
    return "\n".join(["| folder | what it holds | imports |", "|---|---|---|", *lines, ""])


def names(package: str) -> str:
    """List the public names of a package, by the room that defines them."""
    found: dict[str, list[str]] = {}
    for node in ast.parse((folder_of(package) / "__init__.pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            room, _, _ = node.module.removeprefix(package).removeprefix(".").partition(".")
            place = f"`{room}/`" if room in rooms(package) else ""
            found.setdefault(place, []).extend(alias.name for alias in node.names)
    lines = [f"| {room} | {' '.join(f'`{name}`' for name in sorted(found[room]))} |" for room in sorted(found)]
    return "\n".join(["| folder | names |", "|---|---|", *lines, ""])


MAKERS = {"picture": picture, "table": table, "names": names}


def renewed(page: str) -> str:
    """Give a page with what is between its marks made anew."""
    return MADE.sub(lambda mark: mark[1] + MAKERS[mark[2]](mark[3]) + mark[4], page)


def pages() -> list[Path]:
    """Give the pages that hold marks."""
    return [path for path in sorted((ROOT / "docs").glob("*.md")) if MADE.search(path.read_text(encoding="utf-8"))]


if __name__ == "__main__":
    for page in pages():
        page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")
