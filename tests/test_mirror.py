"""Each source file has a test file of its path and name, or a line that says what tests it instead."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXCEPTIONS = ROOT / "tests" / "mirror_exceptions.txt"


def sources() -> list[str]:
    """Give the source files that define something; the links in zoo/ lead to what is seen already."""
    found = [path.relative_to(ROOT) for folder in ("core", "plugins", "zoo") for path in (ROOT / folder).rglob("*.py")]
    return sorted(
        path.as_posix()
        for path in found
        if path.name != "__init__.py" and path.parts[:2] not in (("zoo", "core"), ("zoo", "plugins"))
    )


def mirror(source: str) -> Path:
    """Give the test file of a source file."""
    return ROOT / "tests" / Path(source).parent / f"test_{Path(source).name}"


def exceptions() -> list[tuple[str, str]]:
    """Read the lines `path: what tests it`."""
    lines = EXCEPTIONS.read_text(encoding="utf-8").splitlines()
    return [(path, reason) for path, _, reason in (line.partition(": ") for line in lines if line)]


def test_each_source_file_has_a_test_file_or_a_reason() -> None:
    without = [source for source in sources() if not mirror(source).exists()]
    assert sorted({*without} - {path for path, _ in exceptions()}) == []


def test_no_exception_is_left_over() -> None:
    listed, there = [path for path, _ in exceptions()], {*sources()}
    assert listed == sorted(set(listed))
    assert [path for path in listed if path not in there or mirror(path).exists()] == []


def test_each_exception_names_tests_that_are_there() -> None:
    for path, reason in exceptions():
        named = re.findall(r"tests/[\w/]+\.py", reason)
        assert named or "no code" in reason, f"{path}: {reason!r} names no test file"
        assert not [test for test in named if not (ROOT / test).is_file()], f"{path}: {reason}"
