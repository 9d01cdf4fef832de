"""Pages that are notebooks: jupytext converts them, a kernel executes them, and they print what they say."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
COMMAND = re.compile(r"jupytext --to\s+ipynb\s+docs/([\w-]+)\.md")
PAGES = [path for path in sorted((ROOT / "docs").glob("*.md")) if COMMAND.search(path.read_text(encoding="utf-8"))]


def expected(source: str) -> list[str]:
    """Give the comments at the end of a cell: what it prints."""
    lines = source.rstrip().splitlines()
    start = len(lines)
    while start and lines[start - 1].startswith("# "):
        start -= 1
    return [line.removeprefix("# ") for line in lines[start:]]


def executed(page: Path, folder: Path) -> Any:
    """Convert a page with the command that it names, and run it in a kernel."""
    import nbformat
    from nbclient import NotebookClient

    path = folder / "page.ipynb"
    subprocess.run([sys.executable, "-m", "jupytext", "--quiet", "--to", "ipynb", page, "--output", path], check=True)
    read: Any = nbformat.read  # which has no types
    notebook = read(path, as_version=4)
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    return notebook


def printed(cell: Any) -> list[str]:
    """Give the lines that a cell printed."""
    text = "".join(each["text"] for each in cell["outputs"] if each.get("name") == "stdout")
    return text.splitlines()


def test_each_notebook_names_the_command_that_makes_it() -> None:
    named = {name: path.stem for path in PAGES for name in COMMAND.findall(path.read_text(encoding="utf-8"))}
    assert named == {name: name for name in ("attention", "first-plugin", "first-steps", "own-study")}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Jupyter's own packages
@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_a_notebook_runs_and_prints_what_it_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    cells = [cell for cell in executed(page, tmp_path)["cells"] if cell["cell_type"] == "code"]
    python = [cell for cell in cells if not cell["source"].startswith("%%")]
    wrong = [(expected(cell["source"]), printed(cell)) for cell in python if expected(cell["source"])]
    assert [told for told, _ in wrong] == [found for _, found in wrong]
    assert len(wrong) >= 2
