"""`zoo explore` from the command line."""

import gc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from weakref import ReferenceType, ref

import pytest
from PIL import Image

import zoo
from zoo.viz.explorer.pane import pane_of

Run = Callable[..., tuple[int, str, str]]
SIZE: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}
TINY = [word for key, value in SIZE.items() for word in ("--set", f"{key}={value}")]


@pytest.fixture
def run(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, one_thread: None) -> Run:
    """Run `zoo explore` in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("zoo.cli.looking.told_after.PATIENCE", 600.0)  # no line of progress among what is compared
    Image.linear_gradient("L").save("cat.png")
    return partial(run, "explore")


def test_a_page_is_written(run: Run) -> None:
    code, out, err = run("vit-micro", "cat.png", *TINY)
    assert (code, out, err) == (0, "5 maps, 0.1 MB, saved in attention.html\n", "vit-micro has random weights\n")
    text = Path("attention.html").read_text(encoding="utf-8")
    assert "<title>Attention of vit-micro: cat.png</title>" in text
    assert "zoo explore vit-micro cat.png --set dim=16" in text
    assert "The weights are random" in text


def test_two_inputs_two_mechanisms_and_before_training_stand_side_by_side(run: Run, writer: str) -> None:
    assert run("vit-micro", "cat.png", "cat.png", *TINY)[0] == 0
    assert run("vit-micro", "cat.png", *TINY, "--against-set", "attention=window:1", "--out", "b.html")[0] == 0
    title = "Attention of vit-micro: cat.png and vit-micro attention=window:1: cat.png"
    assert f"<title>{title}</title>" in Path("b.html").read_text(encoding="utf-8")
    assert run(writer, "ab", "--max-len", "3", "--beam", "2", "--against-fresh", "--layers", "1")[0] == 0
    text = Path("attention.html").read_text(encoding="utf-8")
    assert f"{writer} fresh: ab</title>" in text
    assert f"The weights of {writer} fresh: ab are random" in text
    assert run(writer, "ab", "--max-len", "3")[0] == 0
    assert "are random" not in Path("attention.html").read_text(encoding="utf-8")


def test_a_model_of_two_inputs_is_made_once_and_is_gone_when_the_next_one_runs(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    original: Any = zoo.create
    made: list[ReferenceType[Any]] = []
    there: list[int] = []

    def create(*given: Any, **options: Any) -> Any:
        model = original(*given, **options)
        made.append(ref(model))
        return model

    def pane(model: Any, *given: Any) -> Any:
        gc.collect()
        there.append(sum(each() is not None for each in made))
        return pane_of(model, *given)

    monkeypatch.setattr("zoo.factory.create.create", create)
    monkeypatch.setattr("zoo.viz.explorer.pane.pane_of", pane)
    code, _, err = run("vit-micro", "cat.png", "cat.png", *TINY)
    assert (code, err, there) == (0, "vit-micro has random weights\n", [1, 1])
    made.clear()
    assert run("vit-micro", "cat.png", *TINY, "--against-fresh")[0] == 0
    assert there[2:] == [2, 1]


def test_examples_of_data_and_random_inputs_are_explored(run: Run) -> None:
    assert run("graph-small", "--data", "karate", *TINY, "--heads", "2")[:2] == (
        0,
        "1 map, 0.1 MB, saved in attention.html\n",
    )
    assert run("vit-micro", *TINY)[0] == 0
    assert "vit-micro: random input" in Path("attention.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["vit-micro", "--out", "a.png"], "--out 'a.png': its ending is none of .html, .htm"),
        (["vit-micro", "a", "b", "c"], "3 inputs: a page shows two"),
        (["vit-micro", "a", "b", "--against-fresh"], "2 inputs and another model: a page shows two"),
        (["vit-micro", "a", "--data", "digits"], "1 input and --data 'digits': give one of them"),
        (["vit-micro", "--example", "2"], "--example 2 without --data, the source whose test example it is"),
        (["vit-micro", "lost.png"], "an input cannot be read: there is no file 'lost.png'"),
        (["vit-micro", "--part", "banana"], "--part 'banana' is none of encoder, decoder, cross"),
        (["vit-micro", "--layers", "2"], "--layers 2: there are layers 1 … 1"),
        (["vit-micro", "--heads", "x"], "--heads x: 'x' is neither a number nor a range such as 2-4"),
        (["vit-micro", "--beam", "2"], "zoo: --beam 2: 'vit-micro: random input' writes no tokens one by one"),
        (["resnet-micro"], "'resnet-micro' has no attention weights: convolutions and recurrent cells make none"),
        (["no/model"], "there is no folder 'no/model'"),
    ],
)
def test_what_cannot_be_explored_is_told(run: Run, arguments: list[str], told: str) -> None:
    code, _, err = run(*arguments, *(TINY if arguments[0] == "vit-micro" else []))
    assert code == 2
    assert told in err


@pytest.mark.parametrize("words", [["ab", "--layers", "9"], ["ab", "--heads", "9"], ["ab", "--part", "cross"]])
def test_what_is_not_there_is_told_before_the_model_runs(
    run: Run, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zoo.core.Generator.forward", None)
    code, _, err = run("decoder-tiny", *words, *TINY)
    assert code == 2
    assert words[1] in err
    assert words[2] in err


def test_a_second_input_that_is_absent_is_told_before_the_model_runs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.core.Model.forward", None)
    code, _, err = run("vit-micro", "cat.png", "lost.png", *TINY)
    assert code == 2
    assert "there is no file 'lost.png'" in err
