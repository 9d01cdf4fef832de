"""Scripts of all pages: checked and tested by node, where there is one."""

import os
import re
import shutil
import subprocess
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from zoo.bench.learning_curve.report import page as study
from zoo.pages.parts import ASSETS, SHARED, script, style
from zoo.viz.explorer import page as explorer

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed: apt-get install nodejs")
TESTS = Path(__file__).parents[1]
ZOO = ASSETS.parents[1]
PAGES = {"explorer": explorer.SCRIPTS, "study": study.SCRIPTS}
FORBIDDEN = (
    r"\bvar\b(?!\()",
    r"[^=!]==[^=]",
    r"!=[^=]",
    r"\beval\(",
    r"innerHTML",
    r"console\.",
    r"[ \t]+$",
    r"https?://(?!www\.w3\.org)",
)
pages = pytest.mark.parametrize("own", PAGES.values(), ids=PAGES)


def node(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"ZOO": str(ZOO)}
    return subprocess.run([str(NODE), *arguments], capture_output=True, text=True, env=environment, timeout=300)


@pages
def test_a_script_has_the_shared_files_first_and_the_digest_of_its_text(own: tuple[Path, ...]) -> None:
    made = script(own)
    places = [made.text.index(path.read_text(encoding="utf-8")) for path in (*SHARED, *own)]
    assert places == sorted(places)
    assert made.text.count('"use strict";') == 1
    assert made.digest == b64encode(sha256(made.text.encode()).digest()).decode()


@needs_node
@pages
def test_the_script_of_a_page_is_javascript(own: tuple[Path, ...], tmp_path: Path) -> None:
    """As one file: a name that two files define is an error there."""
    whole = tmp_path / "page.js"
    whole.write_text(script(own).text)
    done = node("--check", str(whole))
    assert done.returncode == 0, done.stderr


@needs_node
def test_parts_of_scripts_pass_their_tests() -> None:
    done = node("--test", *map(str, sorted(TESTS.rglob("*.test.js"))))
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"# pass \d\d", done.stdout), done.stdout


def test_every_file_is_in_a_page() -> None:
    packed = {*SHARED, *(path for own in PAGES.values() for path in own)}
    assert {path for path in ZOO.rglob("*.js") if "plugins" not in path.parts} == packed


@pages
def test_scripts_are_free_of_what_a_linter_would_mark(own: tuple[Path, ...]) -> None:
    """Also, what is shared is used by every page: else it would be a page's own."""
    whole = re.sub(r"module\.exports = .*", "", script(own).text)
    for path in (*SHARED, *own):
        text = path.read_text(encoding="utf-8")
        assert text.startswith("// "), f"{path.name} does not say what it is"
        assert not [wrong for wrong in FORBIDDEN if re.search(wrong, text, re.MULTILINE)], path.name
        declared = re.findall(r"^(?:async )?function (\w+)", text, re.MULTILINE)
        assert not [each for each in declared if len(re.findall(rf"\b{each}\b", whole)) < 2], path.name


def test_a_page_s_own_style_stands_behind_the_theme(tmp_path: Path) -> None:
    own = tmp_path / "page.css"
    own.write_text("main { color: red }")
    found = style(own)
    assert found.index("--page: #fff") < found.index("prefers-color-scheme: dark") < found.index("main { color: red }")
