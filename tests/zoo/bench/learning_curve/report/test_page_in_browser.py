"""The page as a person sees it, in Chromium; skipped where none is installed, since none is downloaded."""

import math
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from zoo.bench.learning_curve.report.page import page as write_page
from zoo.bench.learning_curve.results.study import Study

pytestmark = pytest.mark.slow
MakeStudy = Callable[..., Study]
Open = Callable[..., Any]
BETTER, CROSSING = [0.4, 0.5, 0.6, 0.7], [0.2, 0.4, 0.7, 0.9]
HOSTILE = "</script><script>document.title='taken'</script><b title=\"'&amp;"
ASKING = ("file:", "http", "ws")
LONG = "a-model-with-a-name-that-is-longer-than-any-screen-of-a-telephone-is-wide.and-a-tag"


@pytest.fixture
def opened(browser: Open, tmp_path: Path) -> Iterator[Open]:
    """Open the page of a study; at the end, it must have asked for nothing but itself and raised no error."""
    contexts, asked, errors = [], [], []

    def open_page(study: Study, width: int = 1000, **options: Any) -> Any:
        path = tmp_path / "report.html"
        path.write_text(write_page(study, "zoo bench data-size", "<svg viewBox='0 0 8 6'><path d='M0 0'/></svg>"))
        context = browser(width, **options)
        contexts.append(context)
        context.route(lambda url: url.startswith("http"), lambda route: route.abort())
        shown = context.new_page()
        shown.on("request", lambda request: asked.extend([request.url] if request.url.startswith(ASKING) else []))
        shown.on("pageerror", lambda error: errors.append(str(error)))
        shown.goto(path.as_uri())
        return shown

    yield open_page
    for context in contexts:
        context.close()
    assert set(asked) == {(tmp_path / "report.html").as_uri()}
    assert errors == []


def places(shown: Any) -> list[tuple[float, float]]:
    """Give the places of the points, in the order of the contestants and of the sizes."""
    found = shown.locator(".point").evaluate_all("nodes => nodes.map((node) => node.getAttribute('transform'))")
    return [(float(x), float(y)) for x, y in (re.findall(r"-?[\d.]+", each) for each in found)]


def colour(shown: Any, selector: str, name: str) -> str:
    return str(shown.locator(selector).first.evaluate(f"node => getComputedStyle(node).{name}"))


def test_the_page_cannot_make_a_request(opened: Open, make_study: MakeStudy) -> None:
    shown = opened(make_study(BETTER, CROSSING))
    tried = shown.evaluate("fetch('https://example.org/').then(() => 'sent', () => 'refused')")
    assert tried == "refused"


def test_a_point_tells_its_runs_to_the_pointer(opened: Open, make_study: MakeStudy) -> None:
    study = make_study(BETTER, CROSSING)
    shown = opened(study)
    shown.locator(".point").nth(6).hover(force=True)
    assert shown.locator("#runs h3").inner_text() == "vit, 1,000 examples"
    read = "rows => rows.map((row) => [...row.cells].map((cell) => cell.innerText))"
    cells = shown.locator("#runs tbody tr").evaluate_all(read)
    assert cells == [
        [str(run["config"]["seed"]), f"{run['accuracy']:.3f}", "10 (7)", "0.001", f"{run['seconds']:.1f}"]
        for run in study.runs("vit", 1000)
    ]
    assert shown.locator(".run.chosen").count() == 3


def test_a_point_tells_its_runs_to_the_keyboard_and_to_screen_readers(opened: Open, make_study: MakeStudy) -> None:
    shown = opened(make_study(BETTER, CROSSING))
    assert shown.locator("#runs").get_attribute("aria-live") == "polite"
    shown.get_by_label("logarithmic").last.focus()
    shown.keyboard.press("Tab")
    assert shown.locator("#runs h3").inner_text() == "cnn, 100 examples"
    shown.keyboard.press("Tab")
    assert shown.locator("#runs h3").inner_text() == "cnn, 300 examples"
    assert shown.locator(".point").nth(1).get_attribute("aria-label").startswith("cnn, 300 examples: accuracy 0.")


def test_failed_runs_are_told_with_their_cause(opened: Open, make_study: MakeStudy) -> None:
    shown = opened(make_study(BETTER, CROSSING, failed=[("vit", 300)]))
    failed = shown.locator(".point.failed")
    assert failed.get_attribute("aria-label") == "vit, 300 examples: 3 runs, 3 failed"
    failed.hover()
    assert shown.locator("#runs").inner_text().count("no memory") == 3


def test_sizes_are_told_to_the_last_example(opened: Open, make_study: MakeStudy) -> None:
    shown = opened(make_study([0.5, 0.6], [0.5, 0.6], sizes=(100, 1347)))
    shown.locator(".point").last.focus()
    assert shown.locator("#runs h3").inner_text() == "vit, 1,347 examples"
    assert "1,347" in shown.locator("#plot text").all_text_contents()


def test_a_model_is_hidden_and_shown_again_and_the_others_stay(opened: Open, make_study: MakeStudy) -> None:
    shown = opened(make_study(BETTER, CROSSING))
    before = places(shown)
    shown.get_by_role("checkbox", name="cnn").uncheck()
    assert shown.locator(".curve").count() == 1
    assert places(shown) == before[4:]
    shown.get_by_role("checkbox", name="cnn").check()
    assert places(shown) == before


def test_each_axis_is_logarithmic_or_not(opened: Open, make_study: MakeStudy) -> None:
    """In logarithms, equal ratios are equal distances; without, equal differences are."""
    shown = opened(make_study(BETTER, CROSSING))
    sizes = [100, 300, 1000, 3000]

    def spread(values: list[float]) -> list[float]:
        return [(value - values[0]) / (values[-1] - values[0]) for value in values]

    logs = [math.log(size) for size in sizes]
    before = places(shown)
    assert spread([x for x, _ in before[:4]]) == pytest.approx(spread(logs), abs=1e-3)
    shown.get_by_role("group", name="Horizontal axis").get_by_label("logarithmic").uncheck()
    assert spread([x for x, _ in places(shown)[:4]]) == pytest.approx(spread([float(size) for size in sizes]), abs=1e-3)
    assert [y for _, y in places(shown)] == [y for _, y in before]
    shown.get_by_role("group", name="Vertical axis").get_by_label("logarithmic").uncheck()
    assert [y for _, y in places(shown)] != [y for _, y in before]


def test_error_falls_where_the_score_rises(opened: Open, make_study: MakeStudy) -> None:
    shown = opened(make_study(BETTER, CROSSING))
    fallen = [y for _, y in places(shown)[4:]]
    shown.get_by_role("group", name="Vertical axis").get_by_label("Show").select_option(label="accuracy")
    risen = [y for _, y in places(shown)[4:]]
    assert fallen == sorted(fallen)
    assert risen == sorted(risen, reverse=True)


@pytest.mark.parametrize(("axis", "same"), [("seconds of training", True), ("multiply-adds of training", False)])
def test_costs_have_the_crossover_where_each_point_has_its_own(
    opened: Open, make_study: MakeStudy, axis: str, same: bool
) -> None:
    """Seconds grow with the examples here; multiply-adds do not, of equal steps of full batches."""
    shown = opened(make_study(BETTER, CROSSING))
    assert shown.locator(".interval").count() == 1
    shown.get_by_role("group", name="Horizontal axis").get_by_label("Show").select_option(axis)
    assert shown.locator(".interval").count() == same
    assert (shown.locator(".mean").count(), shown.locator(".spread").count()) == ((2, 0) if same else (0, 8))
    across = [x for x, _ in places(shown)[:4]]
    assert (len(set(across)) == 4) == same


def test_the_vertical_axis_shows_measures_by_class(opened: Open, make_study: MakeStudy, by_class: MakeStudy) -> None:
    shown = opened(by_class(make_study(BETTER, CROSSING)))
    axis = shown.get_by_role("group", name="Vertical axis").get_by_label("Show")
    for measure, rises in (("balanced accuracy", True), ("accuracy of the worst class", True), ("log-loss", False)):
        axis.select_option(label=measure)
        heights = [y for _, y in places(shown)[4:]]
        assert heights == sorted(heights, reverse=rises)
        assert len(heights) == 4
        assert shown.locator(".run").count() == 24
        assert shown.locator(".interval, .fit, .level").count() == 0  # they are of the accuracy
        assert shown.get_by_text(f"test {measure}").is_visible()


@pytest.mark.parametrize("logarithmic", [True, False])
@pytest.mark.parametrize("axis", ["training examples", "seconds of training"])
def test_the_crossover_stands_where_the_curves_cross(
    opened: Open, make_study: MakeStudy, axis: str, logarithmic: bool
) -> None:
    shown = opened(make_study(BETTER, CROSSING))
    shown.get_by_role("group", name="Horizontal axis").get_by_label("Show").select_option(axis)
    if not logarithmic:
        for box in shown.get_by_label("logarithmic").all():
            box.uncheck()
    paths = shown.locator(".mean").evaluate_all("nodes => nodes.map((node) => node.getAttribute('d'))")
    first, second = ([tuple(map(float, each.split())) for each in path[1:].split("L")] for path in paths)
    gaps = [(x, one - other) for (x, one), (_, other) in zip(first, second, strict=True)]
    crossed = [x for (x, gap), (_, after) in pairwise(gaps) if gap < 0 <= after or gap > 0 >= after]
    line = float(shown.locator(".crossing").get_attribute("x1"))
    assert min(abs(x - line) for x in crossed) < 25  # a piece of the path is at most so wide
    assert shown.get_by_text("crossover").first.is_visible()


@pytest.mark.parametrize("width", [400, 1600])
def test_nothing_is_wider_than_the_screen(opened: Open, make_study: MakeStudy, renamed: MakeStudy, width: int) -> None:
    shown = opened(renamed(make_study(BETTER, CROSSING), "vit", LONG), width)
    shown.locator(".point").first.focus()
    assert shown.evaluate("document.documentElement.scrollWidth") == width
    tables = shown.locator(".wide").evaluate_all("all => all.map((one) => one.scrollWidth > one.clientWidth)")
    assert tables[0] == (width == 400)  # it scrolls inside its own box
    figure = shown.locator("#plot svg").bounding_box()
    assert 0.5 * width < figure["width"] < width or width == 1600


def test_dark_mode_has_a_dark_page_and_lighter_marks(opened: Open, make_study: MakeStudy) -> None:
    light, dark = (opened(make_study(BETTER, CROSSING), color_scheme=scheme) for scheme in ("light", "dark"))
    assert colour(light, "body", "backgroundColor") == "rgb(255, 255, 255)"
    assert colour(dark, "body", "backgroundColor") == "rgb(20, 23, 27)"
    assert colour(dark, ".mean", "stroke") == "rgb(255, 138, 61)" != colour(light, ".mean", "stroke")


def test_print_is_light_and_has_a_legend_but_no_controls(opened: Open, make_study: MakeStudy) -> None:
    shown = opened(make_study(BETTER, CROSSING), color_scheme="dark")
    shown.get_by_role("checkbox", name="cnn").uncheck()
    shown.emulate_media(media="print")
    assert colour(shown, "body", "backgroundColor") == "rgb(255, 255, 255)"
    assert colour(shown, ".mean", "stroke") == "rgb(0, 114, 178)"
    assert not any(shown.locator(each).first.is_visible() for each in ("select", "input", "#runs", ".axis"))
    assert shown.locator(".legend").get_by_text("vit").is_visible()
    assert not shown.locator(".legend").get_by_text("cnn").is_visible()


@pytest.mark.parametrize(("scheme", "paper"), [("light", (255, 255, 255)), ("dark", (20, 23, 27))])
def test_the_figure_is_saved_as_it_looks(
    opened: Open, make_study: MakeStudy, tmp_path: Path, scheme: str, paper: tuple[int, int, int]
) -> None:
    shown = opened(make_study(BETTER, CROSSING), color_scheme=scheme)
    stroke = colour(shown, ".mean", "stroke")
    for name, ending in (("Save PNG", "png"), ("Save SVG", "svg")):
        with shown.expect_download() as download:
            shown.get_by_role("button", name=name).click()
        assert download.value.suggested_filename == f"data-size.{ending}"
        download.value.save_as(tmp_path / f"figure.{ending}")
    svg = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    page = shown.evaluate("styled('--page')")
    assert f'fill="{page}"' in svg
    assert f"stroke: {stroke}" in svg
    with Image.open(tmp_path / "figure.png") as image:
        size, pixels = image.size, set(image.convert("RGB").get_flattened_data())
    box = shown.locator("#plot svg").bounding_box()
    assert size == pytest.approx((box["width"], box["height"]), abs=1)
    assert paper in pixels
    assert tuple(map(int, re.findall(r"\d+", stroke))) in pixels


def test_without_a_script_there_are_figure_and_tables(opened: Open, make_study: MakeStudy) -> None:
    shown = opened(make_study(BETTER, CROSSING), java_script_enabled=False)
    assert shown.locator("#static svg").is_visible()
    assert not shown.locator("#live").is_visible()
    assert shown.locator("table").first.is_visible()


def test_a_study_without_a_finished_run_keeps_the_figure(opened: Open, make_study: MakeStudy) -> None:
    shown = opened(make_study([0.5], [0.5], sizes=(10,), failed=[("cnn", 10), ("vit", 10)]))
    assert shown.locator("#static svg").is_visible()
    assert not shown.locator("#live").is_visible()


def test_a_hostile_name_is_shown_and_not_run(opened: Open, make_study: MakeStudy, renamed: MakeStudy) -> None:
    shown = opened(renamed(make_study(BETTER, CROSSING), "vit", HOSTILE))
    assert shown.title() == "data-size: toy"
    shown.locator(".point").last.focus()
    assert shown.locator("#runs h3").inner_text() == f"{HOSTILE}, 3,000 examples"
    assert shown.locator(".legend label").last.inner_text().strip().startswith(HOSTILE)
