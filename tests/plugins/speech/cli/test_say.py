"""`zoo say`: texts become files of sound."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import soundfile
import torch

import zoo
from zoo.plugins.shared.text.tokenizer import Tokenizer
from zoo.weights.checkpoint import save

Run = Callable[..., tuple[int, str, str]]
SIZES: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16, "max_steps": 8}


@pytest.fixture
def voice(tmp_path: Path) -> Callable[..., Path]:
    """Save a model that ends at its first step, or never."""

    def make(ends: bool = True) -> Path:
        torch.manual_seed(0)
        model: Any = zoo.create("speech-synthesis-tiny", **SIZES)
        with torch.no_grad():
            model.head.linear.weight[-1] = 0
            model.head.linear.bias[-1] = 1.0 if ends else -1.0
        folder = save(model, tmp_path / "voice")
        Tokenizer.byte_level().save(folder / "tokenizer.json")
        return folder

    return make


def test_a_text_becomes_a_file(run: Run, voice: Callable[..., Path], tmp_path: Path) -> None:
    file = tmp_path / "one.wav"
    code, out, err = run("say", "one", "--model", voice(), "--out", file)
    assert (code, out, err) == (0, f"{file}\t0.03 s\tone\n", "")
    samples, rate = soundfile.read(file)
    assert (len(samples), rate) == (480, 16_000)


def test_weights_can_be_int8(run: Run, voice: Callable[..., Path], tmp_path: Path) -> None:
    folder = voice(ends=False)
    sounds = []
    for options in ((), ("--int8",)):
        assert run("say", "one", "--model", folder, "--out", tmp_path / "one.wav", *options)[0] == 0
        sounds.append(soundfile.read(tmp_path / "one.wav")[0])
    assert sounds[0].shape == sounds[1].shape
    assert (sounds[0] != sounds[1]).any()


def test_several_are_numbered_and_what_found_no_end_is_named(
    run: Run, voice: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "lines").write_text("one\ntwo\n")
    code, out, err = run(
        "say", "--file", tmp_path / "lines", "--model", voice(ends=False), "--out", tmp_path / "a.flac"
    )
    assert (code, [line.split("\t")[1:] for line in out.splitlines()]) == (0, [["0.31 s", "one"], ["0.31 s", "two"]])
    assert [soundfile.info(tmp_path / name).frames for name in ("a-1.flac", "a-2.flac")] == [4_960, 4_960]
    assert err.splitlines()[0] == f"zoo: '{tmp_path}/a-1.flac' is cut: the model found no end of 'one'"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["one", "--model", "speech-synthesis-tiny", "--out", "a.mp3"], "'a.mp3': its ending is none of .wav, .flac"),
        (["one", "--model", "speech-synthesis-tiny", "--out", "no/a.wav"], "'no/a.wav': there is no folder 'no'"),
        (["one", "--model", "speech-tiny"], "'speech-tiny' is a 'speech-tiny', which does not speak"),
        ([" ", "--model", "speech-synthesis-tiny"], "text 1 is ' ': there is nothing to read"),
    ],
)
def test_what_cannot_be_said_is_told(run: Run, arguments: list[str], told: str) -> None:
    code, _, err = run("say", *arguments)
    assert code == 2
    assert told in err
