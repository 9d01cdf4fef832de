"""Parts of a page that stands alone: the theme, and one script of JavaScript files with its digest."""

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ASSETS = Path(__file__).parent / "assets"
SHARED = tuple(ASSETS / f"{name}.js" for name in ("elements", "scales", "saving"))
"""Files that stand before those of a page, in their order."""


@dataclass(frozen=True)
class Script:
    """A script of a page.

    Args:
        text: JavaScript.
        digest: SHA-256 in base64, by which the page's policy allows this script and no other.
    """

    text: str
    digest: str


def script(own: Sequence[Path]) -> Script:
    """Pack the shared files and a page's own into one script.

    Args:
        own: files of the page, in their order.
    """
    files = [path.read_text(encoding="utf-8") for path in (*SHARED, *own)]
    text = '"use strict";\n' + "\n".join(files)
    return Script(text, b64encode(hashlib.sha256(text.encode()).digest()).decode())


def style(own: Path) -> str:
    """Give the style of a page: the theme, and its own file behind it."""
    return (ASSETS / "theme.css").read_text(encoding="utf-8") + own.read_text(encoding="utf-8")
