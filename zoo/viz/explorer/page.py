"""The page: HTML, style and script of `assets/` with the packed data, in one file that cannot make a request."""

import json
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from zoo.pages.parts import script, style
from zoo.viz.explorer.colours import png, viridis
from zoo.viz.explorer.packing import pack
from zoo.viz.explorer.pane import Pane
from zoo.viz.explorer.still import still

ASSETS = Path(__file__).parent / "assets"
FILES = "codec address colours cells state matrix tokens media writing exports main"
SCRIPTS = tuple(ASSETS / f"{name}.js" for name in FILES.split())
"""Files of the script, in the order in which they stand in the page, behind the shared ones."""
NOTICE = 20_000_000
"""Characters of a page from which on it says that it is large."""


def page(panes: Sequence[Pane], command: str = "") -> str:
    """Write the page.

    Args:
        panes: one, or two side by side.
        command: that makes the page again; shown at its end.
    """
    packed = pack([each.weights for pane in panes for each in pane.maps])
    made = script(SCRIPTS)
    title = " and ".join(pane.title for pane in panes)
    colours = "".join(bytes(colour.tolist()).hex() for colour in viridis())
    data = {
        "bits": packed.bits,
        "scales": packed.scales,
        "numbers": packed.numbers,
        "colours": colours,
        "panes": _described(panes),
    }
    return Template((ASSETS / "page.html").read_text(encoding="utf-8")).substitute(
        title=escape(title),
        digest=made.digest,
        style=style(ASSETS / "page.css"),
        random=_random(panes),
        stills="".join(_still(pane) for pane in panes),
        command=f"<p class=quiet>Made by <code>{escape(command)}</code></p>" if command else "",
        data=json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
        blob=packed.blob,
        script=made.text,
    )


def _described(panes: Sequence[Pane]) -> list[dict[str, Any]]:
    """Describe panes as data, with the places of their numbers."""
    found, row, number = [], 0, 0
    for pane in panes:
        maps = []
        for each in pane.maps:
            q, k = each.weights.shape
            told = {"part": each.part, "layer": each.layer, "head": each.head, "size": [q, k], "at": [row, number]}
            told |= {"rows": each.rows, "columns": each.columns, "signed": int(each.weights.min(initial=0) < 0)}
            maps.append(told | {"summary": each.summary, "caveat": each.caveat})
            row, number = row + q, number + q * k
        rest = {"sides": pane.sides, "medium": pane.medium, "generation": pane.generation, "notes": pane.notes}
        found.append({"title": pane.title, "maps": maps} | rest)
    return found


def _random(panes: Sequence[Pane]) -> str:
    """Say of which panes the weights are random; nothing where they are of none."""
    found = [pane for pane in panes if pane.random]
    if not found:
        return ""
    whose = "" if len(found) == len(panes) else f" of {escape(found[0].title)}"
    return f"<p class=random role=note>The weights{whose} are random: the model was not trained.</p>"


def _still(pane: Pane) -> str:
    url = f"data:image/png;base64,{b64encode(png(still(pane.maps))).decode()}"
    words = "attention weights, a row for each layer, a column for each head, methods below"
    title = escape(pane.title)
    return f'<figure><img alt="{title}: {words}" src="{url}"><figcaption>{title}</figcaption></figure>'
