"""The shell commands that pages show."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = (
    "(?:zoo|uv|python3?|pip|curl|bash|sh|ray|arecord|espeak-ng|ffmpeg|git|docker|make|mkdocs|pytest|sbatch|srun|torchrun|"
    "pre-commit|conda|npm|wget|hf|apt-get)"
)
COMMAND = rf"^(?:\$ |uv run )?((?:[A-Z_]+=\S+ )*{PROGRAM}(?: \S.*?)?)(?:  +.*)?$"
MENTION = rf"(?<![\w/.-]){PROGRAM}(?: \S| +#|$)"
SHELL = {"", "bash", "sh", "console", "shell"}
"""Languages of the blocks in which commands stand."""
OTHER = {"python", "mermaid", "toml"}
"""Languages of all other blocks."""


def fences(page: str) -> list[tuple[str, str]]:
    """Give language and code of what a page shows."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.findall(r"^([ \t]*)```([^\s`]*)[^\n`]*\n(.*?)^\1```[ \t]*$", text, re.DOTALL | re.MULTILINE)
    return [(language, re.sub(f"^{indent}", "", code, flags=re.MULTILINE)) for indent, language, code in found]


def lines(page: str) -> list[str]:
    """Give the lines of the blocks in which commands stand, long ones joined."""
    shell = "\n".join(code for language, code in fences(page) if language in SHELL)
    return re.sub(r"\\\n *", "", shell).splitlines()


def commands(page: str) -> list[str]:
    """Give the shell commands of a page; two of one line are two."""
    parts = [part for line in lines(page) for part in line.split(" && ")]
    return [match[1] for part in parts if (match := re.match(COMMAND, part))]


FOUND = [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "examples").glob("*/README.md"))]
PAGES = ["README.md", "CONTRIBUTING.md", *(path.relative_to(ROOT).as_posix() for path in FOUND)]
ALL = {page: found for page in PAGES if (found := commands(page))}
