"""The site of documentation: every page has its place, and what is built asks for nothing outside itself."""

import http.server
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
NAV = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
WHOLE = {"index.md", "contributing.md", "changelog.md", "security.md"}
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PAGES = {path.name for path in (ROOT / "docs").glob("*.md")}


def test_every_page_has_a_place_in_nav_and_every_place_a_page() -> None:
    placed = re.findall(r": ([\w-]+\.md)$", NAV, re.MULTILINE)
    assert len(placed) == len({*placed})
    assert sorted(PAGES | WHOLE) == sorted(placed), "place new pages by kind in nav of mkdocs.yml"


def test_every_figure_stands_near_the_command_that_makes_it() -> None:
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for match in re.finditer(r"!\[[^\]]*\]\(([\w-]+\.(?:png|svg))\)", text):
            near = text[max(0, match.start() - 2500) : match.end() + 1500]
            assert re.search(r"\bzoo [a-z]|docs/\w+\.py", near), f"{page.name}: which command makes {match[1]}?"
            assert (ROOT / "docs" / match[1]).exists()


MOST_BYTES = 3_000_000
"""Of a page with all that it fetches, as it is sent without compression."""
COLOURS = """() => {
    const made = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
    const numbers = colour => {
        made.fillStyle = colour; made.fillRect(0, 0, 1, 1);
        return [...made.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const ground = numbers(getComputedStyle(document.body).backgroundColor);
    return [numbers(getComputedStyle(document.querySelector("article p")).color), ground];
}"""
"""Red, green and blue of a paragraph over the ground of the page, and of that ground."""


def contrast(text: Sequence[int], ground: Sequence[int]) -> float:
    """Give the ratio of luminances that WCAG 2.2 defines; 7 is its strictest wish."""
    parts = [[(x / 255 + 0.055) ** 2.4 / 1.055**2.4 if x > 10 else x / 3295 for x in each] for each in (text, ground)]
    low, high = sorted(0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in parts)
    return (high + 0.05) / (low + 0.05)


def size_of(reply: Any) -> int:
    """Give the bytes that a browser got."""
    return int(reply.headers.get("content-length", 0))


class Resources(HTMLParser):
    """Addresses that a browser fetches by itself."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        fetched = given.get("src") or (given.get("href") if tag == "link" and given.get("rel") != "canonical" else None)
        self.found += [fetched] if fetched else []


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(folder),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.slow
def test_no_page_names_a_resource_of_another_host_and_all_names_are_documented(site: Path) -> None:
    pages = {path.relative_to(site): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    outside = {str(at): [each for each in Resources(text).found if "//" in each] for at, text in pages.items()}
    assert not {page: found for page, found in outside.items() if found}
    assert not [path for path in site.rglob("*.css") if re.search(r"url\(['\"]?(?:https?:)?//", path.read_text())]
    text = "".join(pages.values())
    names = (ROOT / "docs" / "public_names.txt").read_text(encoding="utf-8").partition("\nclass core:")[2]
    wanted = [
        f"zoo.core.{name}" for name in re.findall(r"^    class (\w+)", names.partition("\nclass ")[0], re.MULTILINE)
    ]
    assert len(wanted) > 100
    assert not [name for name in wanted if f'id="{name}"' not in text]


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed: apt-get install chromium")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1600])
def test_a_page_fits_the_window_is_readable_and_weighs_little(address: str, width: int, scheme: Any) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=CHROMIUM, args=["--disable-gpu", "--no-first-run"])
        for name in ("index.html", "models.html", "plugins.html", "benchmarks.html", "reference/zoo.core.engine.html"):
            page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 900})
            weights: list[int] = []
            page.on("response", lambda reply, to=weights: to.append(size_of(reply)))
            page.goto(address + name, wait_until="networkidle")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name} is wider than the window"
            text, ground = page.evaluate(COLOURS)
            assert contrast(text, ground) > 7, f"{name}: text {text} on {ground}"
            assert (sum(ground) < 382) == (scheme == "dark")
            assert sum(weights) < MOST_BYTES, f"{name}: {sum(weights) / 1e6:.1f} MB"
            page.close()
        browser.close()


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed: apt-get install chromium")
@pytest.mark.parametrize("script", [True, False], ids=["with JavaScript", "without"])
def test_a_browser_asks_no_other_host_and_shows_the_text(address: str, script: bool) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=CHROMIUM, args=["--disable-gpu", "--no-first-run"])
        context = browser.new_context(java_script_enabled=script, viewport={"width": 400, "height": 900})
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        for name in ("index.html", "engine.html", "architecture.html", "reference/zoo.core.engine.html"):
            page.goto(address + name, wait_until="load")
            assert page.locator("article h1").is_visible()
            assert len(page.locator("article").inner_text()) > 1000
        assert page.locator("nav a[href$='first-steps.html']").count()
        browser.close()
    assert len(asked) > 8
    assert not [url for url in asked if not url.startswith((address, "data:"))]
