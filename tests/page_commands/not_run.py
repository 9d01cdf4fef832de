"""Which commands of pages run here, and why the others do not."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

from tests.page_commands.reading import ALL

ELSEWHERE = {
    "docs/new-modality.md": "tests/test_plugin_pages.py",
    "docs/ten-commands.md": "tests/zoo/weights/test_sharing.py",
}
"""Pages whose commands another test runs."""


class NotRun(NamedTuple):
    """Commands that no test runs as they stand.

    Args:
        patterns: of the commands.
        reason: why they are not run here.
        tests: what tests the same instead; empty where nothing can.
    """

    patterns: tuple[str, ...]
    reason: str
    tests: str


NOT_RUN = (
    NotRun(("pip install *",), "installs packages: .ci/run does, into a fresh environment", ".ci/run"),
    NotRun(("ZOO_RANDOM_CASES=* uv run pytest *",), "runs tests for an hour", "tests/core/engine/test_laws.py"),
    NotRun(("pytest", "pytest -m slow"), "runs these tests, with those of examples/", "pyproject.toml"),
    NotRun(("bash .ci/run", "pytest -n 0 FILE"), "runs these tests", ".ci/run"),
    NotRun(("pre-commit install",), "changes what git does in this repository", ".pre-commit-config.yaml"),
    NotRun(("uv run --group docs mkdocs serve",), "serves until it is stopped", "tests/test_site.py"),
    NotRun(("bash .ci/gpu", "pytest -m gpu", "* --device cuda"), "needs a GPU", "tests/zoo/bench/gpu/test_engine.py"),
)
BESIDE = {
    "tests/page_commands/test_servers.py": ("zoo serve *", "curl *"),
    "tests/page_commands/test_clusters.py": ("ray start *", "* --executor ray *"),
}
"""Commands that a test of their own runs, by patterns."""


def is_run(command: str) -> bool:
    """Say whether a command is run with the others of its page."""
    patterns = [pattern for found in (*(each.patterns for each in NOT_RUN), *BESIDE.values()) for pattern in found]
    return not any(fnmatchcase(command, pattern) for pattern in patterns)


TO_RUN = {page: [each for each in found if is_run(each)] for page, found in ALL.items() if page not in ELSEWHERE}
EVERY = [command for page, found in ALL.items() if page not in ELSEWHERE for command in found]


def run_by(test: str) -> list[tuple[str, str]]:
    """Give the commands that a test of their own runs, each with its page."""
    found = [(page, command) for page, every in ALL.items() if page not in ELSEWHERE for command in every]
    return [(page, command) for page, command in found if any(fnmatchcase(command, each) for each in BESIDE[test])]


def idle(patterns: Iterable[str], among: Iterable[str]) -> list[str]:
    """Give the patterns that no command has."""
    return [pattern for pattern in patterns if not any(fnmatchcase(command, pattern) for command in among)]
