"""Hooks of mkdocs.yml: pages that follow from the code, and drawings without a script."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))
import drawing  # noqa: E402
import rooms  # noqa: E402

WHOLE = {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
WHOLE |= {"security.md": "SECURITY.md"}
MERMAID = re.compile(r"^```mermaid\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PACKAGES = (
    "zoo",
    "zoo.core",
    "zoo.data",
    "zoo.bench",
    "zoo.weights",
    "zoo.training",
    "zoo.registry",
    "zoo.serve",
    "zoo.viz",
)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that stand elsewhere in the repository, the commands, and the public names by folder."""
    for path, text in {**whole_pages(), **reference_pages(), "reference/commands.md": commands()}.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_config(config: Any) -> Any:
    """Place the public names under "Reference"."""
    next(part["Reference"] for part in config.nav if "Reference" in part).append(
        {"Public names": sorted(reference_pages())}
    )
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Draw mermaid's flowcharts as SVG, which needs no script."""
    return MERMAID.sub(lambda match: drawing.svg(match[1]), markdown)


def whole_pages() -> dict[str, str]:
    """Give README and its like as pages of the site, their links turned."""
    names = {source: page for page, source in WHOLE.items()}
    found = {}
    for page, source in WHOLE.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        text = re.sub(r"\[docs/([\w-]+\.md)\]", r"[\1]", text)
        for name, target in names.items():
            text = text.replace(f"]({name}", f"]({target}")
        found[page] = text
    return found


def reference_pages() -> dict[str, str]:
    """Give a page for each package with public names, and for each folder of the engine."""
    pages: dict[str, str] = {}
    for package in PACKAGES:
        for room, names in public(package):
            title = f"{package}: {room}" if room else package
            path = f"reference/{package}{'.' + room if room else ''}.md"
            entries = "\n\n".join(f"::: {package}.{name}" for name in names)
            pages[path] = f"# {title}\n\n`from {package} import …` has these names.\n\n{entries}\n"
    return pages


def public(package: str) -> Iterator[tuple[str, list[str]]]:
    """Give the names of a package's `__init__.pyi`, those of the engine by folder; what is a module is left out."""
    found: dict[str, list[str]] = {}
    for node in ast.parse((rooms.folder_of(package) / "__init__.pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module not in (None, package):
            room = str(node.module).removeprefix(f"{package}.").partition(".")[0]
            by_folder = package == "zoo.core" and room in rooms.rooms(package)
            found.setdefault(room if by_folder else "", []).extend(alias.name for alias in node.names)
    yield from sorted(found.items())


def commands() -> str:
    """Give the help of each command of `zoo`."""
    from typer.main import get_command

    from zoo.cli.app import build

    lines = ["# Commands", "", "What `zoo COMMAND --help` says."]
    for path, command in walk("zoo", get_command(build())):
        lines += ["", f"## {path}", "", command.help or "", ""]
        lines += [f"- `{names}`: {text}" for names, text in options(command)]
    return "\n".join(lines) + "\n"


def walk(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Give each command below a group."""
    if not hasattr(command, "commands"):
        yield path, command
    for name, below in sorted(getattr(command, "commands", {}).items()):
        yield from walk(f"{path} {name}", below)


def options(command: Any) -> Iterator[tuple[str, str]]:
    """Give arguments and options with their help."""
    for each in command.params:
        names = " ".join(each.opts) if each.opts[0].startswith("-") else each.name.upper()
        if names != "--help" and not getattr(each, "hidden", False):
            yield names, " ".join((each.help or "").split())
