"""`zoo attention` from the command line."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from zoo.viz import heatmap
from zoo.viz.attention_maps import Map

Run = Callable[..., tuple[int, str, str]]

SIZE: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}
TINY = [word for key, value in SIZE.items() for word in ("--set", f"{key}={value}")]


@pytest.fixture(autouse=True)
def _light(one_thread: None) -> None:
    """Compute with one thread."""


@pytest.fixture
def run(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run `zoo attention` in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("zoo.cli.looking.told_after.PATIENCE", 600.0)  # no line of progress among what is compared
    return partial(run, "attention")


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Sequence[Map]]]:
    """Keep what would be drawn, and save an empty figure."""
    seen: list[tuple[str, Sequence[Map]]] = []

    def draw(maps: Sequence[Map], title: str) -> Figure:
        seen.append((title, maps))
        return Figure(figsize=(1, 1))

    monkeypatch.setattr(heatmap, "draw", draw)
    return seen


@pytest.mark.parametrize(("ending", "first"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_a_picture_is_drawn(run: Run, tmp_path: Path, ending: str, first: bytes) -> None:
    Image.linear_gradient("L").save(tmp_path / "cat.png")
    code, out, err = run("vit-micro", "cat.png", *TINY, "--head", "1", "--out", f"maps.{ending}")
    assert (code, out) == (0, f"cat.png: 1 layer, saved in maps.{ending}\n")
    assert err == "vit-micro has random weights\n"
    assert (tmp_path / f"maps.{ending}").read_bytes().startswith(first)


def test_an_example_of_no_data_is_refused(run: Run) -> None:
    code, _, told = run("bert-micro", "a", "--example", "2")
    assert (code, told) == (2, "zoo: --example 2 without --data, the source whose test example it is\n")


def test_attention_is_laid_over_the_picture(run: Run, tmp_path: Path) -> None:
    Image.linear_gradient("L").save(tmp_path / "cat.png")
    assert run("vit-micro", "cat.png", *TINY, "--over-picture")[0] == 0
    with Image.open("attention.png") as image:
        shades = np.array(image.convert("RGB")).reshape(-1, 3)
    assert len(np.unique(shades, axis=0)) > 100
    assert "--over-picture: this model reads no pictures" in run("speech-tiny", "--over-picture", "--layer", "1")[2]


def test_layers_and_heads_are_chosen_as_zoo_explore_chooses_them(run: Run, drawn: Any) -> None:
    size = [
        word for key, value in (SIZE | {"depth": 3, "num_heads": 4}).items() for word in ("--set", f"{key}={value}")
    ]
    for words in (
        ["--layers", "1,3", "--heads", "2-3"],
        ["--layer", "1", "--layer", "3", "--head", "2", "--head", "3"],
    ):
        assert run("vit-micro", *size, *words)[0] == 0
        _, maps = drawn.pop()
        assert [(each.layer, each.heads) for each in maps] == [(1, (2, 3)), (3, (2, 3))]
    assert "--layers 9: there are layers 1 … 3" in run("vit-micro", *size, "--layer", "9")[2]


def test_a_picture_that_is_long_in_the_making_is_told_of(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    saved, told = Figure.savefig, Event()

    def echo(text: str, err: bool = False) -> None:
        if "drawing" in text:
            assert err
            told.set()

    def slow(figure: Figure, *given: Any, **options: Any) -> None:
        assert told.wait(60)
        saved(figure, *given, **options)

    monkeypatch.setattr("zoo.cli.looking.told_after.PATIENCE", 0.0)
    monkeypatch.setattr("zoo.cli.looking.told_after.typer.echo", echo)
    monkeypatch.setattr(Figure, "savefig", slow)
    assert run("vit-micro", *TINY)[0] == 0


@pytest.mark.parametrize(("ending", "first"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_a_graph_is_drawn_with_its_edges(run: Run, tmp_path: Path, ending: str, first: bytes) -> None:
    code, out, err = run("graph-small", "--data", "karate", *TINY, "--head", "2", "--out", f"club.{ending}")
    assert (code, out) == (0, f"karate, example 1: 1 layer, saved in club.{ending}\n")
    assert err == "graph-small has random weights\n"
    assert (tmp_path / f"club.{ending}").read_bytes().startswith(first)


def test_a_model_that_writes_is_drawn_while_it_writes(run: Run, writer: str, drawn: Any) -> None:
    code, _, err = run(writer, "ab", "--max-len", "4")
    assert (code, err) == (0, "")
    ((title, maps),) = drawn
    assert title == f"{writer}: ab"
    assert [each.part for each in maps] == ["encoder", "decoder", "cross"]
    assert maps[2].keys.names == ("a", "b", "</s>")
    assert maps[2].queries.names[0] == "<s>"
    assert maps[2].weights.shape == (2, len(maps[2].queries.names), 3)
    assert len(maps[2].queries.names) <= 5


def test_a_decoder_alone_is_drawn_while_it_reads(run: Run, drawn: Any) -> None:
    assert run("decoder-tiny", "ab", *TINY)[0] == 0
    ((_, (only,)),) = drawn
    assert (only.part, only.queries.names, only.keys.names) == ("decoder", ("<s>", "a", "b"), ("<s>", "a", "b"))


@pytest.mark.parametrize("inputs", [["ab", "--layer", "9"], ["ab", "--head", "9"], ["ab", "--part", "encoder"]])
def test_what_is_not_there_is_told_before_the_model_runs(
    run: Run, inputs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zoo.core.Generator.forward", None)
    code, _, err = run("decoder-tiny", *inputs, *TINY)
    assert code == 2
    assert inputs[1] in err


def test_an_input_that_is_absent_is_told_before_the_first_is_drawn(run: Run, tmp_path: Path) -> None:
    Image.linear_gradient("L").save(tmp_path / "cat.png")
    code, out, err = run("vit-micro", "cat.png", "lost.png", *TINY)
    assert (code, out) == (2, "")
    assert "there is no file 'lost.png'" in err
    assert not (tmp_path / "attention-1.png").exists()


def test_atoms_of_a_molecule_have_the_names_of_their_elements(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rdkit")
    seen: list[Sequence[str]] = []

    def draw(maps: Any, title: str, names: Sequence[str]) -> Figure:
        seen.append(names)
        return Figure(figsize=(1, 1))

    monkeypatch.setattr("zoo.viz.graph_plot.draw", draw)
    assert run("graph-tiny", "CCO", *TINY)[0] == 0
    assert seen == [["C 0", "C 1", "O 2"]]


def test_several_inputs_are_numbered(run: Run, tmp_path: Path, drawn: Any) -> None:
    assert run("decoder-tiny", "ab", "c", *TINY, "--out", "maps.png")[0] == 0
    assert [title for title, _ in drawn] == ["decoder-tiny: ab", "decoder-tiny: c"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["maps-1.png", "maps-2.png"]


def test_examples_of_data_are_read_with_their_right_answers(run: Run, writer: str, drawn: Any, tmp_path: Path) -> None:
    words = [f"{first}{second}" for first in "abcde" for second in "vwxyz"]
    (tmp_path / "pairs.tsv").write_text("".join(f"{word}\t{word[::-1]}\n" for word in words))
    assert run(writer, "--data", "./pairs.tsv", "--example", "2")[0] == 0
    ((title, maps),) = drawn
    assert title == f"{writer}: ./pairs.tsv, example 2"
    source, target = maps[2].keys.names, maps[2].queries.names
    assert source[-1] == "</s>"
    assert target == ("<s>", *reversed(source[:-1]))
    told = run(writer, "--data", "./pairs.tsv", "--example", "26")[2]
    assert re.match(r"zoo: --example 26: './pairs.tsv' has \d test examples", told)


def test_a_fresh_model_is_made_to_fit_the_data(run: Run, drawn: Any, tmp_path: Path) -> None:
    np.savez(tmp_path / "grey.npz", x=np.arange(1280).reshape(20, 8, 8).astype(np.uint8), y=np.arange(20) % 2)
    assert run("vit-micro", "--data", "./grey.npz", "--set", "patch_size=4", *TINY)[0] == 0
    ((_, (only,)),) = drawn
    assert only.weights.shape == (2, 36, 36)  # 24 points to a side, and one channel


@pytest.mark.filterwarnings("default")  # the command line shows warnings itself
def test_data_that_are_constant_are_named(run: Run, drawn: Any, tmp_path: Path) -> None:
    np.savez(tmp_path / "grey.npz", x=np.zeros((20, 8, 8), np.uint8), y=np.arange(20) % 2)
    err = run("vit-micro", "--data", "./grey.npz", "--set", "patch_size=4", *TINY)[2]
    assert "npz:grey.npz: 20 of 20 images are constant" in err


def test_without_an_input_random_numbers_are_read(run: Run, drawn: Any) -> None:
    code, out, _ = run("speech-tiny", "--set", "depth=2", "--layer", "2")
    assert (code, out) == (0, "random numbers: 1 layer, saved in attention.png\n")
    ((_, (only,)),) = drawn
    assert (only.layer, only.keys.step, only.keys.unit) == (2, 0.04, "s")


def test_configuration_can_be_changed_and_weights_left_aside(run: Run, writer: str, drawn: Any) -> None:
    assert run(writer, "ab", "--max-len", "2", "--set", "attention=window:0")[0] == 0
    assert run(writer, "ab", "--max-len", "2", "--fresh")[2].endswith("has random weights\n")
    (_, (alone, *_)), (_, (other, *_)) = drawn
    assert [row.argmax().item() for row in alone.weights[0]] == [0, 1, 2]
    assert float(alone.weights[0].diagonal().min()) == 1
    assert float(other.weights[0].diagonal().min()) < 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["vit-micro", "--out", "maps.jpg"], "--out 'maps.jpg': its ending is none of .png, .svg, .pdf"),
        (["vit-micro", "--out", "no/maps.png"], "--out 'no/maps.png': there is no folder 'no'"),
        (["vit-micro", "a.png", "--data", "digits"], "1 input and --data 'digits': give one of them"),
        (["vit-micro", "a.png"], "an input cannot be read: there is no file 'a.png'"),
        (["vit-micro", "--max-len", "3"], "--max-len 3: nothing is generated here"),
        (["vit-micro", "--layer", "2"], "--layers 2: there are layers 1 … 1"),
        (["resnet-micro"], "convolutions and recurrent cells make none. `zoo predict` and `zoo generate` show its"),
        (["no/model"], "there is no folder 'no/model'"),
    ],
)
def test_what_cannot_be_drawn_is_told(run: Run, arguments: list[str], told: str) -> None:
    sizes = TINY if arguments[0] == "vit-micro" else []
    code, _, err = run(*arguments, *sizes)
    assert code == 2
    assert told in err
