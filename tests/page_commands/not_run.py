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
    NotRun(("zoo serve *", "curl *"), "serves until it is stopped", "tests/zoo/serve/test_routes.py"),
    NotRun(("ray start *", "* --executor ray *"), "needs a cluster", "tests/zoo/bench/grid/test_ray_executor.py"),
    NotRun(("* --shard *",), "is a task of Slurm", "tests/zoo/bench/learning_curve/test_execution.py"),
    NotRun(("bash .ci/gpu", "pytest -m gpu", "* --device cuda"), "needs a GPU", "tests/zoo/bench/gpu/test_engine.py"),
    NotRun(("zoo push *", "* hf-hub:org/name*"), "asks the Hugging Face Hub", "tests/zoo/weights/test_sharing.py"),
    NotRun(("* --pretrained *",), "downloads weights", "tests/zoo/cli/test_train.py"),
    NotRun(("zoo predict bert-base *",), "downloads weights", "tests/zoo/cli/answering/test_predict.py"),
    NotRun(("* wav2vec2-base.960h *",), "downloads weights", "tests/plugins/speech/cli/test_transcribe.py"),
    NotRun(
        ("*hf:imdb*", "*hf:opus_books*", "*hf:imagenet-1k*"),
        "downloads data",
        "tests/zoo/data/tables/sources/test_hub.py",
    ),
)


def is_run(command: str) -> bool:
    """Say whether a command is run here."""
    return not any(fnmatchcase(command, pattern) for each in NOT_RUN for pattern in each.patterns)


TO_RUN = {page: [each for each in found if is_run(each)] for page, found in ALL.items() if page not in ELSEWHERE}
EVERY = [command for page, found in ALL.items() if page not in ELSEWHERE for command in found]


def idle(patterns: Iterable[str], among: Iterable[str]) -> list[str]:
    """Give the patterns that no command has."""
    return [pattern for pattern in patterns if not any(fnmatchcase(command, pattern) for command in among)]
