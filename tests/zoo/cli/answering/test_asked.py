"""Inputs that cannot be read do not take the answers of the others with them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from PIL import Image

import zoo
from zoo.cli.answering.asked import Asked
from zoo.errors import ConfigError, InputError

Run = Callable[..., tuple[int, str, str]]
SIZE: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}


@pytest.fixture
def captioner(tmp_path: Path) -> str:
    """Save a small model that writes captions of bytes."""
    model = zoo.create("joined:vit-micro+decoder-tiny", **SIZE, decoder_config=SIZE)
    zoo.weights.save(model, tmp_path / "captioner")
    zoo.preprocess("decoder-tiny").tokenizer.save(tmp_path / "captioner" / "tokenizer.json")  # type: ignore[attr-defined]
    return str(tmp_path / "captioner")


def test_generate_answers_the_others_names_what_it_skips_and_fails_at_the_end(
    run: Run, captioner: str, tmp_path: Path
) -> None:
    picture, gone = str(tmp_path / "a.png"), str(tmp_path / "gone.png")
    Image.linear_gradient("L").save(picture)
    code, out, err = run("generate", captioner, picture, gone, picture, "--max-len", "2", "--json")
    assert (code, out.count('"input"')) == (1, 2)
    assert f"zoo: skipped {gone!r}: an input cannot be read: " in err
    assert err.endswith("zoo: 1 of 3 inputs skipped\n")
    code, out, err = run("generate", captioner, gone)
    assert (code, out) == (2, "")
    assert "an input cannot be read: " in err


@pytest.mark.parametrize("option", [("--stream", "--max-len", "2"), ("--target", "a caption", "--json")])
def test_streams_and_scores_go_on_behind_an_input_that_cannot_be_read(
    run: Run, captioner: str, tmp_path: Path, option: tuple[str, ...]
) -> None:
    picture, gone = str(tmp_path / "a.png"), str(tmp_path / "gone.png")
    Image.linear_gradient("L").save(picture)
    code, alone, _ = run("generate", captioner, picture, *option)
    assert (code, alone.endswith("\n")) == (0, True)
    code, out, err = run("generate", captioner, gone, picture, picture, *option)
    assert (code, out) == (1, 2 * alone)
    assert err.startswith(f"zoo: skipped {gone!r}: an input cannot be read: ")
    assert err.endswith("zoo: 1 of 3 inputs skipped\n")
    code, out, err = run("generate", captioner, gone, *option)
    assert (code, out) == (2, "")
    assert "an input cannot be read: " in err


def test_a_blank_line_of_a_pipe_is_skipped(run: Run, writer: str) -> None:
    alone = run("generate", writer, "abc", "--max-len", "2", "--json")[1]
    code, out, err = run("generate", writer, "--max-len", "2", "--json", piped=b"abc\n\nabc\n")
    assert (code, out) == (1, 2 * alone)
    assert err == "zoo: skipped '': there is nothing to read\nzoo: 1 of 3 inputs skipped\n"


def test_a_blank_prompt_beside_another_is_continued_as_it_is_alone(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "prompted"
    zoo.weights.save(zoo.create("decoder-tiny", **SIZE), folder)
    zoo.preprocess("decoder-tiny").tokenizer.save(folder / "tokenizer.json")  # type: ignore[attr-defined]
    _, alone, _ = run("generate", str(folder), "", "--max-len", "2", "--json")
    code, out, err = run("generate", str(folder), "", "ab", "--max-len", "2", "--json")
    assert (code, err) == (0, "")
    assert out.startswith(alone)
    assert out.count("\n") == 2


def test_skipped_inputs_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    asked = Asked(iter(["a", "b"]), 32)
    assert list(asked.given()) == ["a", "b"]
    assert asked.skip is not None
    asked.skip("a", InputError("no"))
    with pytest.raises(typer.Exit):
        asked.end()
    asked.skip("b", InputError("no"))
    with pytest.raises(InputError, match="no input can be read, of 2 inputs"):
        asked.end()
    assert capsys.readouterr().err.startswith("zoo: skipped 'a': no\nzoo: 1 of 2 inputs skipped\n")


def test_pairs_have_a_tab_between() -> None:
    with pytest.raises(ConfigError, match="--pairs: input 2, 'b', is not two with a tab between"):
        list(Asked(iter(["a\tc", "b"]), 32, pairs=True).given())
