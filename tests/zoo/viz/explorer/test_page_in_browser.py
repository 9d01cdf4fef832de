"""The page as a person sees it, in Chromium; skipped where none is installed, since none is downloaded."""

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import zoo
from zoo.viz.explorer.colours import viridis
from zoo.viz.explorer.exploration import Exploration
from zoo.viz.explorer.pane import Pane, Shown

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]
SIZE: dict[str, Any] = {"dim": 16, "depth": 2, "num_heads": 2, "mlp_dim": 16}
READOUT = ".readout b"
Open = Callable[..., Any]


@pytest.fixture
def opened(browser: Open, tmp_path: Path) -> Iterator[Open]:
    """Open a page; at the end, it must have asked for nothing but itself and what it holds, and told no error."""
    contexts, asked, errors = [], set[str](), []

    def open_page(found: Exploration, width: int = 1200, address: str = "", **options: Any) -> Any:
        path = found.save(tmp_path / "page.html")
        context = browser(width, **options)
        contexts.append(context)
        context.route(lambda url: url.startswith("http"), lambda route: route.abort())
        shown = context.new_page()
        shown.on("request", lambda request: asked.add(request.url.partition(":")[0]))
        shown.on("pageerror", lambda error: errors.append(str(error)))
        shown.on("console", lambda message: errors.extend([message.text] if told(message) else []))
        shown.goto(f"{path.as_uri()}#{address}")
        if options.get("java_script_enabled", True):
            wait_until(shown, "document.documentElement.dataset.ready")
        return shown

    yield open_page
    for context in contexts:
        context.close()
    assert asked <= {"file", "data", "blob"}
    assert errors == []


def wait_until(shown: Any, condition: str, seconds: float = 60.0) -> None:
    """Wait for a condition in JavaScript: `wait_for_function` asks again by `eval`, which the page's policy refuses."""
    end = time.monotonic() + seconds
    while not shown.evaluate(condition):
        assert time.monotonic() < end, f"not within {seconds} s: {condition}"
        shown.wait_for_timeout(20)


def told(message: Any) -> bool:
    """Tell whether a message of the console is an error, but for that of the request which a test tries to make."""
    return message.type == "error" and "example.org" not in message.text


def random_maps(count: int = 2, size: int = 5) -> list[Shown]:
    random = np.random.default_rng(0)
    summary: dict[str, float | None] = {
        "entropy": 1.25,
        "distance": 2.0,
        "first": 0.5,
        "itself": 0.1,
        "previous": 0.2,
        "padding": 0.0,
    }
    return [
        Shown("encoder", layer, head, random.dirichlet(np.full(size, 0.3), size), "source", "source", summary)
        for layer in (1, 2)
        for head in range(1, count + 1)
    ]


def toy(maps: Sequence[Shown] = ()) -> Exploration:
    maps = list(maps) or random_maps()
    names = [f"w{place}" for place in range(maps[0].weights.shape[1])]
    return Exploration([Pane("toy", maps, {"source": {"names": names, "tokens": True}}, None, None, [])])


def cell(shown: Any, row: int, column: int) -> tuple[float, float]:
    """Give the middle of a cell of the matrix, on the canvas, by its frame as the script computes it."""
    frame = shown.evaluate(
        """() => {
        const pane = JSON.parse(document.getElementById("data").textContent).panes[0];
        const width = parseFloat(document.querySelector(".matrix").style.width);
        const { frame, wide, high } = frameOf(pane, mapOf(pane), width);
        return { ...frame, wide, high }; }"""
    )
    return frame["left"] + (column + 0.5) * frame["wide"], frame["top"] + (row + 0.5) * frame["high"]


def test_a_cell_has_its_colour_and_its_number_under_the_pointer(opened: Open) -> None:
    found = toy()
    shown = opened(found)
    weights = found.panes[0].maps[0].weights
    for row, column in ((2, 3), (4, 1), (3, 4)):
        x, y = cell(shown, row, column)
        pixel = shown.evaluate(
            f"[...document.querySelector('.matrix').getContext('2d').getImageData({round(x)}, {round(y)}, 1, 1).data]"
        )
        level = round(255 * float(np.sqrt(weights[row, column] / weights.max())))
        assert np.abs(np.array(pixel[:3]) - viridis()[level].astype(int)).max() <= 3
        box = shown.locator(".matrix").bounding_box()
        shown.mouse.move(box["x"] + x, box["y"] + y)
        wait_until(shown, f"document.querySelector('.readout').innerText.includes('w{row} → w{column}')")
        number = float(shown.locator(READOUT).inner_text())
        assert number == pytest.approx(weights[row, column], abs=6e-4)
    assert f"{weights.max():.3f} (largest of this map)" in shown.locator(".scale").inner_text()
    assert shown.locator("dd").all_inner_texts() == ["1.250", "2.000", "0.500", "0.100", "0.200", "0.000"]
    tried = shown.evaluate("fetch('https://example.org/').then(() => 'sent', () => 'refused')")
    assert tried == "refused"


def test_keys_and_clicks_choose_and_the_address_keeps_it(opened: Open) -> None:
    shown = opened(toy())
    shown.locator(".matrix").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "]", "."):
        shown.keyboard.press(key)
    wait_until(shown, "location.hash.includes('map=encoder.2.2&')")
    assert "row=2" in shown.url
    assert "column=1" in shown.url
    shown.get_by_role("heading", name="Encoder, layer 2, head 2").wait_for()
    assert shown.get_by_label("encoder, layer 2, head 2").get_attribute("aria-pressed") == "true"
    before = shown.locator(READOUT).inner_text()
    again = opened(toy(), 1200, shown.url.partition("#")[2])
    assert again.locator(READOUT).inner_text() == before
    shown.get_by_label("encoder, layer 1, head 1").click()
    shown.get_by_role("button", name="w3").first.click()
    wait_until(shown, "location.hash.includes('row=3&column=3')")
    shown.get_by_role("heading", name="What “w3” reads").wait_for()
    shown.get_by_label("Number under each head").select_option("entropy")
    wait_until(shown, "document.querySelector('.heads button').innerText === '1.25'")


def test_the_matrix_is_saved_as_png_and_svg(opened: Open, tmp_path: Path) -> None:
    shown = opened(toy())
    for name, ending in (("Save PNG", "png"), ("Save SVG", "svg")):
        with shown.expect_download() as download:
            shown.get_by_role("button", name=name).click()
        assert download.value.suggested_filename == f"attention-encoder.1.1.{ending}"
        download.value.save_as(tmp_path / f"a.{ending}")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "a.svg").read_text(encoding="utf-8")
    weights = toy().panes[0].maps[0].weights
    level = round(255 * float(np.sqrt(weights[0, 0] / weights.max())))
    assert re.findall(r'fill="#(\w{6})"/><rect', svg)[0] == bytes(viridis()[level].tolist()).hex()


@pytest.mark.parametrize("width", [400, 1600])
def test_dark_and_narrow_pages_fit(opened: Open, width: int) -> None:
    shown = opened(toy(random_maps(12)).beside(toy()), width, color_scheme="dark")
    assert shown.evaluate("document.documentElement.scrollWidth") == width
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    assert shown.locator(".pane").count() == 2
    shown.get_by_label("encoder, layer 2, head 2").first.click()
    wait_until(shown, "document.querySelectorAll('.heads [aria-pressed=true]').length === 2")


def test_without_a_script_a_still_picture_stands_there(opened: Open) -> None:
    shown = opened(toy(), java_script_enabled=False)
    assert shown.locator("noscript img, figure img").first.is_visible()
    assert not shown.locator("#panes").is_visible()


def test_each_medium_is_drawn_and_chosen_on(opened: Open) -> None:
    for name, config in (("vit-micro", {}), ("speech-tiny", {"window": 640}), ("graph-small", {})):
        model: Any = zoo.create(name, **SIZE | config)
        shown = opened(model.explore(*zoo.example(name, 1)))
        canvas = shown.locator(".picture")
        box = canvas.bounding_box()
        pixels = "[...document.querySelector('.picture').getContext('2d').getImageData(0, 0, 200, 150).data]"
        assert len(set(shown.evaluate(pixels))) > 8
        if name == "graph-small":
            place = json.loads(shown.locator("#data").text_content())["panes"][0]["medium"]["places"][2]
            x, y = (15 + share * (box["width"] - 30) for share in place)
        else:
            x, y = 0.9 * box["width"], 0.4 * box["height"]
        shown.mouse.click(box["x"] + x, box["y"] + y)
        wait_until(shown, "/row=[1-9]/.test(location.hash)")
        assert shown.locator("audio").count() == (name == "speech-tiny")
        shown.get_by_role("button", name="rollout of encoder, mean of heads").click()
        shown.get_by_text("arXiv:2005.00928").first.wait_for()


def test_a_generation_is_walked_through(opened: Open) -> None:
    torch.manual_seed(1)
    model: Any = zoo.create("transformer-tiny", **SIZE)
    found = model.explore("ab", max_len=4, beam=2)
    shown = opened(found)
    assert shown.get_by_role("heading", name="Cross-attention, layer 1, head 1").is_visible()
    slider = shown.get_by_label("Step of the generation")
    slider.focus()
    shown.keyboard.press("ArrowRight")
    wait_until(shown, "location.hash.includes('row=1')")
    steps = found.panes[0].generation["steps"]
    table = shown.get_by_label("Candidates of the step")
    cells = table.locator("tr").evaluate_all("rows => rows.map((row) => row.cells[1].textContent)")
    numbers = [float(text) for text in cells]
    assert numbers == pytest.approx([probability for _, probability, _ in steps[1]["candidates"]], abs=6e-4)
    assert shown.locator(".tree text.best").count() >= 1
    shown.locator(".matrix").focus()
    shown.keyboard.press("ArrowDown")
    shown.get_by_role("heading", name="Generation: step 3 of").wait_for()
    shown.get_by_label("encoder, layer 1, head 1").click()
    shown.get_by_role("heading", name="Encoder, layer 1, head 1").wait_for()
    assert shown.get_by_role("heading", name="Generation: step 3 of").is_visible()


def test_what_a_decoder_without_attention_writes_is_walked_through(opened: Open) -> None:
    torch.manual_seed(0)
    model: Any = zoo.join("vit-micro", "rnn-tiny")
    found = model.explore(*zoo.example("vit-micro", 1), max_len=3)
    shown = opened(found)
    slider = shown.get_by_label("Step of the generation")
    slider.focus()
    shown.keyboard.press("End")
    steps = found.panes[0].generation["steps"]
    shown.get_by_role("heading", name=f"Generation: step {len(steps)} of {len(steps)}").wait_for()
    last = any(taken for *_, taken in steps[-1]["candidates"])
    assert shown.get_by_text("No token stands here").is_visible() is not last
