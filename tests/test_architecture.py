"""The drawings and tables in the docs are those of the tree."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SPEC = spec_from_file_location("rooms", ROOT / "docs" / "rooms.py")
assert SPEC is not None
assert SPEC.loader is not None
rooms = module_from_spec(SPEC)
SPEC.loader.exec_module(rooms)


def test_the_pages_with_drawings_are_found() -> None:
    assert {"architecture.md", "engine.md"} <= {path.name for path in rooms.pages()}


@pytest.mark.parametrize("page", rooms.pages(), ids=lambda path: path.name)
def test_drawings_and_tables_are_up_to_date(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == rooms.renewed(text), f"{page.name} is out of date: uv run python docs/rooms.py"


@pytest.mark.parametrize("package", ["zoo.core", "zoo", "zoo.plugins.graph"])
def test_a_drawing_implies_every_import(package: str) -> None:
    drawn: dict[str, set[str]] = {room: set() for room in rooms.rooms(package)}
    for own, other in re.findall(r"^    (\w+) --> (\w+)$", rooms.picture(package), re.MULTILINE):
        drawn[own].add(other)
    imported = rooms.arrows(package)
    for room in drawn:
        assert rooms.reach(room, drawn) == rooms.reach(room, imported)
        assert all(other not in rooms.reach(between, drawn) for other in drawn[room] for between in drawn[room])


def test_every_file_that_the_page_names_is_there() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:core|plugins|zoo|tests)/[\w./]+)`", page)
    assert len(named) > 20
    assert not [path for path in named if not (ROOT / path).exists()]
