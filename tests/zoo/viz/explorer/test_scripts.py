"""The script of the page: checked and tested by node, where there is one."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from zoo.viz.explorer.page import ASSETS, SCRIPTS

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed: apt-get install nodejs")
TESTS = Path(__file__).parent / "assets"


def node(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"ASSETS": str(ASSETS)}
    return subprocess.run([str(NODE), *arguments], capture_output=True, text=True, env=environment, timeout=300)


@needs_node
def test_the_script_of_the_page_is_javascript(tmp_path: Path) -> None:
    """As one file too: a name that two files define is an error there."""
    whole = tmp_path / "page.js"
    whole.write_text('"use strict";\n' + "\n".join((ASSETS / f"{name}.js").read_text() for name in SCRIPTS))
    done = node("--check", str(whole))
    assert done.returncode == 0, done.stderr


@needs_node
def test_its_parts_pass_their_tests() -> None:
    done = node("--test", *map(str, sorted(TESTS.glob("*.test.js"))))
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"# pass \d\d", done.stdout), done.stdout


def test_every_file_is_in_the_page_and_free_of_what_a_linter_would_mark() -> None:
    assert sorted(path.stem for path in ASSETS.glob("*.js")) == sorted(SCRIPTS)
    for name in SCRIPTS:
        text = (ASSETS / f"{name}.js").read_text(encoding="utf-8")
        assert text.startswith("// "), f"{name}.js does not say what it is"
        for wrong in (
            r"\bvar\b",
            r"[^=!]==[^=]",
            r"!=[^=]",
            r"\beval\(",
            r"innerHTML",
            r"console\.",
            r"[ \t]+$",
            r"https?://(?!www\.w3\.org)",
        ):
            assert not re.search(wrong, text, re.MULTILINE), f"{name}.js has {wrong}"
        declared = re.findall(r"^(?:async )?function (\w+)", text, re.MULTILINE)
        used = "".join((ASSETS / f"{other}.js").read_text(encoding="utf-8") for other in SCRIPTS)
        assert not [each for each in declared if len(re.findall(rf"\b{each}\b", used)) < 2], f"{name}.js: unused"
