"""Colours and markers of models, the same in every figure: a hue for each kind, a marker for each model.

On white they are Okabe and Ito's colours (jfly.uni-koeln.de/color), and where those do not suffice those of Paul Tol's
scheme "muted" (SRON/EPS/TN/09-002); on a dark background the same hues, lighter.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from matplotlib.markers import MarkerStyle

from zoo.spec import Kind

COLOURS: Mapping[Kind, tuple[tuple[str, str], ...]] = {
    "convolution": (("#D55E00", "#FF8A3D"), ("#E69F00", "#FFC857"), ("#882255", "#E58AB5")),
    "attention": (("#0072B2", "#4DA6FF"), ("#56B4E9", "#A8DBFF"), ("#332288", "#A99CFF")),
    "hybrid": (("#009E73", "#2CCB9B"), ("#117733", "#8FD694"), ("#999933", "#D9D96B")),
    "recurrent": (("#CC79A7", "#F2A6CE"), ("#444444", "#E8E8E8"), ("#AA4499", "#DD77CC")),
}
"""On white and on a dark background, by kind."""
_MARKERS: Mapping[Kind, str] = {"convolution": "sPX", "attention": "o^v", "hybrid": "Dp*", "recurrent": "d<>"}
_LETTERS = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}
"""Commands of SVG paths, by matplotlib's codes."""


@dataclass(frozen=True)
class Mark:
    """Colours and marker of a model, by matplotlib's name."""

    light: str
    dark: str
    marker: str

    @property
    def path(self) -> str:
        """Give the marker as an SVG path about the origin, 10 pixels wide or a little more."""
        style = MarkerStyle(self.marker)
        path = style.get_path().transformed(style.get_transform())
        parts = []
        for points, code in path.iter_segments(simplify=False, curves=True):
            numbers = " ".join(f"{10 * x:z.2f},{-10 * y:z.2f}" for x, y in points.reshape(-1, 2))
            parts.append("Z" if code == path.CLOSEPOLY else f"{_LETTERS[int(code)]}{numbers}")
        return "".join(parts)


def marks(kinds: Mapping[str, Kind]) -> dict[str, Mark]:
    """Give each model, by its name, the colour and marker of its kind, another for the next of a kind."""
    chosen: dict[str, Mark] = {}
    taken: dict[Kind, int] = {}
    for name, kind in kinds.items():
        nth = taken.get(kind, 0)
        shades, shapes = COLOURS[kind], _MARKERS[kind]
        marker = shapes[(nth + nth // len(shades)) % len(shapes)]  # nine of a kind differ
        chosen[name] = Mark(*shades[nth % len(shades)], marker)
        taken[kind] = nth + 1
    return chosen
