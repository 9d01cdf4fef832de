"""The page of all modalities: its figures, what it says where nothing crosses, and what could not be run."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from zoo.bench.learning_curve import modalities
from zoo.bench.learning_curve.modalities import Part, draw_together, page, verdict, write_page
from zoo.bench.learning_curve.results.entries import Data, ModelEntry
from zoo.bench.learning_curve.results.study import Study
from zoo.bench.learning_curve.training.tested import pack
from zoo.errors import DataError


def study(attention: dict[int, float], folder: Path) -> Study:
    """Make a study of a convolution, right in .5, .7 and .8 of 400 tests, and self-attention."""
    curves = {"cnn": {100: 0.5, 300: 0.7, 1000: 0.8}, "vit": attention}
    records: list[dict[str, Any]] = []
    for name, curve in curves.items():
        for size, accuracy in curve.items():
            for seed in (0, 1):
                correct = pack(np.arange(400) < 400 * accuracy)
                config = {"model": name, "size": size, "seed": seed}
                records.append({"config": config, "accuracy": accuracy, "correct": correct})
    return Study(
        models=[
            ModelEntry(name="cnn", kind="convolution", learning_rate=0.1, parameters=2000),
            ModelEntry(name="vit", kind="attention", learning_rate=0.1, parameters=3000),
        ],
        data=Data(name="toys", description="Toys.", num_classes=10, chance=0.1),
        steps=dict.fromkeys((100, 300, 1000), 5),
        seeds=2,
        records=records,
        folder=folder,
    )


def parts(folder: Path) -> list[Part]:
    return [
        Part(modality="a", command="run a", study=study({100: 0.3, 300: 0.6, 1000: 0.95}, folder)),
        Part(modality="b", command="run b", study=study({100: 0.3, 300: 0.4, 1000: 0.5}, folder)),
        Part(modality="c", command="run c", cause="no such program"),
    ]


def test_the_page_says_where_curves_cross_and_where_they_do_not(tmp_path: Path) -> None:
    crossing, apart, missing = parts(tmp_path)
    assert verdict(crossing).startswith("Yes. vit overtakes cnn at about")
    assert verdict(apart).startswith("Nothing crosses here. cnn is ahead of vit at every size")
    assert verdict(missing) == "Not run: no such program"
    text = page(parts(tmp_path), "the command")
    assert "Made by `the command`" in text
    assert "| 1,000 | 0.800 ± " in text
    assert text.count("\n## ") == 3
    assert "`run b`" in text


def test_one_figure_has_axes_for_each_study(tmp_path: Path) -> None:
    studies = [part.study for part in parts(tmp_path) if part.study] * 2
    for count in (1, 3, 4):
        figure = draw_together(dict(zip("abcd", studies[:count], strict=False)))
        assert len(figure.axes) == count
        assert all("training examples" in axes.get_xlabel() for axes in figure.axes)
        assert [axes.get_title(loc="left")[:3] for axes in figure.axes] == ["A: ", "B: ", "C: ", "D: "][:count]


def test_page_and_figure_are_written_and_a_page_without_studies_has_no_figure(tmp_path: Path) -> None:
    write_page(parts(tmp_path)[2:], tmp_path / "none", "x")
    assert [path.name for path in (tmp_path / "none").iterdir()] == ["modalities.md"]
    assert "modalities.png" not in (tmp_path / "none" / "modalities.md").read_text()
    write_page(parts(tmp_path), tmp_path / "all", "x")
    assert {path.suffix for path in (tmp_path / "all").iterdir()} == {".md", ".png", ".svg"}


def test_the_command_runs_each_modality_and_goes_on_where_one_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def run(config: Any, folder: Path, *_: Any) -> Study:
        asked.append((config.data, config.steps, folder))
        if config.data == "spoken-digits":
            raise DataError("these data need the program espeak-ng")
        folder.mkdir(parents=True)
        return study({100: 0.3, 300: 0.6, 1000: 0.95}, folder)

    monkeypatch.setattr(modalities, "run_study", run)
    app = typer.Typer()
    app.command()(modalities.command)
    result = CliRunner().invoke(app, ["--modalities", "sound,image", "--quick", "--out", str(tmp_path / "out")])
    assert result.exit_code == 1, result.output  # one could not be run
    assert asked == [
        ("spoken-digits", 100, tmp_path / "out" / "speech"),
        ("cards", 700, tmp_path / "out" / "vision"),
    ]
    text = (tmp_path / "out" / "modalities.md").read_text()
    assert "Not run: these data need the program espeak-ng" in text
    assert "vit overtakes cnn" in text
    assert (tmp_path / "out" / "vision" / "report.html").exists()
