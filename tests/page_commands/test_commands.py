"""Each shell command of README.md, docs/ and examples/ runs, with few steps, or stands in a list with the reason."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.page_commands.not_run import BESIDE, ELSEWHERE, EVERY, NOT_RUN, TO_RUN, idle, run_by
from tests.page_commands.reading import (
    ALL,
    COMMAND,
    MENTION,
    OTHER,
    PAGES,
    ROOT,
    SHELL,
    commands,
    fences,
    lines,
)  # fmt: skip
from tests.page_commands.running import run_all
from tests.page_commands.short import AS_IT_IS, INSTEAD, PIPED, RUNS, SHORT, TYPED, needed


@pytest.mark.parametrize("page", PAGES)
def test_each_block_of_a_page_is_read_and_its_language_is_known(page: str) -> None:
    marks = re.findall(r"^[ \t>]*(?:```|~~~)", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert len(marks) == 2 * len(fences(page))
    assert {language for language, _ in fences(page)} <= SHELL | OTHER


def test_commands_are_read_in_blocks_of_each_language_of_shells_and_in_lists(tmp_path: Path) -> None:
    blocks = [f"```{language}\nzoo list {language}x\n```\n" for language in sorted(SHELL | OTHER)]
    (tmp_path / "page.md").write_text(
        "".join(blocks)
        + "- a list\n\n  ```bash title=here\n  $ zoo train \\\n    net && uv run zoo list  # why\n  ```\n",
        encoding="utf-8",
    )
    wanted = [f"zoo list {language}x" for language in sorted(SHELL)]
    assert commands(str(tmp_path / "page.md")) == [*wanted, "zoo train net", "zoo list"]


def test_a_program_alone_is_a_command(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    shown = ("pytest", "uv run pytest  # all", "zoo list && zoo", "zoom", "File pytest.py", "see zoo", "a zoo  # is")
    page.write_text("\n".join(["```", *shown, "```\n"]), encoding="utf-8")
    assert commands(str(page)) == ["pytest", "pytest", "zoo list", "zoo"]
    assert [bool(re.search(MENTION, line)) for line in lines(str(page))] == [True] * 3 + [False] * 2 + [True] * 2


@pytest.mark.parametrize("page", PAGES)
def test_no_line_of_a_page_names_a_program_and_is_not_read_as_a_command(page: str) -> None:
    assert [line for line in lines(page) if re.search(MENTION, line) and not re.match(COMMAND, line)] == []


def test_what_is_not_run_stands_on_a_page_and_is_tested_elsewhere() -> None:
    assert idle([pattern for each in NOT_RUN for pattern in each.patterns], EVERY) == []
    assert all(each.reason and (ROOT / each.tests).is_file() for each in NOT_RUN)
    assert all(run_by(test) and (ROOT / test).is_file() for test in BESIDE)
    assert all(page in ALL and Path(page).name in (ROOT / test).read_text() for page, test in ELSEWHERE.items())


def test_what_makes_commands_short_is_for_a_command_that_is_run() -> None:
    run = [command for found in TO_RUN.values() for command in found]
    for kind in (SHORT, [AS_IT_IS], INSTEAD, TYPED, [f"{program} *" for program in PIPED]):
        assert idle(kind, run) == []
    given = {name for page in TO_RUN for name, _ in needed(page)}
    assert given == set(RUNS)


def test_a_command_that_fails_once_is_told_though_it_succeeds_later() -> None:
    results = iter(["no folder", "", ""])
    wrong, seconds = run_all(["zoo list", "zoo new", "zoo list"], lambda command: next(results))
    assert wrong == [("zoo list", "no folder")]
    assert len(seconds.splitlines()) == 3


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("unchecked_shapes", "one_thread")
@pytest.mark.parametrize("page", [page for page, found in TO_RUN.items() if found])
def test_the_commands_of_a_page_run(
    page: str,
    run: Callable[[str], str],
    publish: Callable[[list[str]], None],
    beside: Callable[[str], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Run them one after another in one folder; `-rP` shows the processor time of each."""
    if shutil.which("espeak-ng") is None and re.search("spoken|one-voice|phonemes", " ".join(TO_RUN[page])):
        pytest.skip("espeak-ng is not installed, which speaks the data of this page")
    for language, code in fences(page):
        if language == "python" and (name := re.match(r"# (\w+\.py)\n", code)):
            Path(name[1]).write_text(code, encoding="utf-8")
    publish(TO_RUN[page])
    beside(page)
    wrong, seconds = run_all([*(each for _, each in needed(page)), *TO_RUN[page]], run)
    capsys.readouterr()
    print(seconds)
    assert not wrong, json.dumps(wrong, indent=2)
