"""Flowcharts of mermaid as SVG, which needs no script: boxes in rows, arrows downwards, in the colour of the page."""

import re

WIDTH, HEIGHT, GAP, ROW = 108, 26, 14, 70


def svg(flowchart: str) -> str:
    """Draw lines `a --> b`, or `a` alone; who imports stands above what it imports."""
    arrows = re.findall(r"^\s*(\w+) --> (\w+)$", flowchart, re.MULTILINE)
    boxes = dict.fromkeys(re.findall(r"\b(?!flowchart\b|TD\b)\w+\b", flowchart))
    places = placed(boxes, arrows)
    across = max(x for x, _ in places.values()) + WIDTH + GAP
    down = max(y for _, y in places.values()) + HEIGHT + 4
    said = "; ".join(f"{own} imports {other}" for own, other in arrows)
    parts = [f'<svg class="drawing" viewBox="0 0 {across} {down}" width="{across}" role="img" aria-label="{said}">']
    parts.append(
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    )
    parts.append('<path d="M0 0 8 4 0 8z" fill="currentColor"/></marker></defs>')
    parts += [line(places[own], places[other]) for own, other in arrows]
    parts += [box(name, *place) for name, place in places.items()]
    return "".join([*parts, "</svg>"])


def placed(boxes: dict[str, None], arrows: list[tuple[str, str]]) -> dict[str, tuple[float, float]]:
    """Give each box its corner: a row below all that import it, and within the row near what imports it."""
    rows: dict[int, list[str]] = {}
    for name in boxes:
        rows.setdefault(depth(name, arrows), []).append(name)
    widest = max(map(len, rows.values()))
    places: dict[str, tuple[float, float]] = {}
    for row in sorted(rows):
        centres = {name: centre(name, arrows, places) for name in rows[row]}
        start = (widest - len(rows[row])) * (WIDTH + GAP) / 2
        for at, name in enumerate(sorted(rows[row], key=lambda each: (centres[each], each))):
            places[name] = (GAP / 2 + start + at * (WIDTH + GAP), 2 + row * ROW)
    return places


def depth(name: str, arrows: list[tuple[str, str]]) -> int:
    """Give the length of the longest way to a box."""
    return max((1 + depth(own, arrows) for own, other in arrows if other == name), default=0)


def centre(name: str, arrows: list[tuple[str, str]], places: dict[str, tuple[float, float]]) -> float:
    """Give the mean place of the boxes that import one."""
    above = [places[own][0] for own, other in arrows if other == name and own in places]
    return sum(above) / len(above) if above else 0.0


def line(start: tuple[float, float], end: tuple[float, float]) -> str:
    """Draw an arrow from the lower edge of a box to the upper one of another."""
    (a, b), (c, d) = (start[0] + WIDTH / 2, start[1] + HEIGHT), (end[0] + WIDTH / 2, end[1])
    bend = f"{a:.0f} {b + 24:.0f} {c:.0f} {d - 24:.0f}"
    style = 'fill="none" stroke="currentColor" opacity=".6" marker-end="url(#tip)"'
    return f'<path d="M{a:.0f} {b:.0f}C{bend} {c:.0f} {d:.0f}" {style}/>'


def box(name: str, x: float, y: float) -> str:
    """Draw a box with its name."""
    place = f'x="{x:.0f}" y="{y:.0f}" width="{WIDTH}" height="{HEIGHT}"'
    text = f'<text x="{x + WIDTH / 2:.0f}" y="{y + 17:.0f}" text-anchor="middle" font-size="12" fill="currentColor">'
    return f'<rect {place} rx="4" fill="var(--md-default-bg-color, none)" stroke="currentColor"/>{text}{name}</text>'
