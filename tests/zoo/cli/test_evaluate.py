"""`zoo evaluate`: what it prints, and the files that it writes; tests/page_commands runs the commands of its page."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import zoo
from zoo.weights.card import card

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("evaluated")
    rows = "\n".join(f"thing {i} {('bad', 'good')[i % 2]},{('bad', 'good')[i % 2]}" for i in range(40))
    (folder / "reviews.csv").write_text(f"text,label\n{rows}\n")
    zoo.train("bert-micro", f"csv:{folder}/reviews.csv", out=folder / "run", steps=1, batch_size=8, tokenizer="byte")
    return str(folder / "run")


def test_scores_are_printed_and_written(run: Run, trained: str, tmp_path: Path) -> None:
    page, items = tmp_path / "page.html", tmp_path / "items.csv"
    code, out, err = run("evaluate", trained, "--samples", "5", "--out", str(page), "--csv", str(items))
    assert (code, err) == (0, "")
    assert "balanced accuracy" in out
    assert "zoo evaluate" in page.read_text()
    assert items.read_text().startswith("split,index,wanted,found")


def test_scores_are_printed_as_json(run: Run, trained: str, tmp_path: Path) -> None:
    code, out, _ = run("evaluate", trained, "--samples", "5", "--json", "--out", str(tmp_path / "page.html"))
    assert code == 0
    low, high = json.loads(out)["scores"]["accuracy"]["interval"]
    assert low <= high


def test_scores_of_the_test_split_are_kept_for_the_card_until_other_weights_are_saved(
    run: Run, trained: str, tmp_path: Path
) -> None:
    folder, page = tmp_path / "run", str(tmp_path / "page.html")
    shutil.copytree(trained, folder)
    kept = folder / "evaluation.json"
    kept.unlink(missing_ok=True)  # of another test
    for other in (["--split", "all"], ["--split", "validation"], ["--int8"]):
        assert run("evaluate", str(folder), "--samples", "5", "--out", page, *other)[0] == 0
        assert not kept.exists()
    code, out, _ = run("evaluate", str(folder), "--samples", "5", "--out", page)
    assert (code, f"for the card of zoo push: {kept}" in out.replace("\n", "")) == (0, True)
    accuracy = json.loads(kept.read_text())["scores"]["accuracy"]
    low, high = accuracy["interval"]
    assert f"| accuracy | {accuracy['value']:.4g} | {low:.4g} to {high:.4g} |" in card(folder, "me/mine", "mit")
    zoo.weights.save(zoo.create(f"local-dir:{folder}"), folder)
    assert not kept.exists()


def test_scores_on_other_data_are_not_kept(run: Run, trained: str, tmp_path: Path) -> None:
    rows = "\n".join(f"other {i} {('bad', 'good')[i % 2]},{('bad', 'good')[i % 2]}" for i in range(40))
    (tmp_path / "others.csv").write_text(f"text,label\n{rows}\n")
    given = ["--data", f"csv:{tmp_path}/others.csv", "--samples", "5", "--out", str(tmp_path / "page.html")]
    assert run("evaluate", trained, *given)[0] == 0
    with pytest.raises(zoo.ConfigError, match="cannot be written"):
        zoo.evaluate(trained, samples=5).keep(tmp_path / "none")
    assert "card" not in run("evaluate", trained, *given)[1]


def test_a_file_that_cannot_be_written_is_told_before_anything_is_read(run: Run, tmp_path: Path) -> None:
    code, _, err = run("evaluate", "nothing", "--out", str(tmp_path / "page.pdf"))
    assert (code, err.count("its ending is none of")) == (2, 1)
    code, _, err = run("evaluate", "nothing", "--csv", str(tmp_path / "none" / "a.csv"))
    assert "--csv" in err
