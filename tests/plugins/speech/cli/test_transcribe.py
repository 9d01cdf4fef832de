"""`zoo transcribe`: texts and times of files, and what is skipped."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import constants

import zoo
from zoo.plugins.shared.text.tokenizer import Tokenizer
from zoo.weights.checkpoint import save

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]
SIZES: dict[str, Any] = {"dim": 24, "depth": 2, "num_heads": 3, "mlp_dim": 48, "task": "generate"}
TEXT = "one two"


@pytest.fixture
def checkpoint(tmp_path: Path) -> Callable[..., Path]:
    """Save a model that says the same of every sound, a byte every 40 ms."""

    def make(by: str = "ctc") -> Path:
        torch.manual_seed(0)
        model: Any = zoo.create("speech-tiny", by=by, **SIZES)
        folder = save(model, tmp_path / by)
        Tokenizer.byte_level().save(folder / "tokenizer.json")
        return folder

    return make


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each vector emit the next byte of a text, then blanks."""
    from zoo.core.models.ctc import Ctc

    def emit(self: Any, sounds: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        (row,) = Tokenizer.byte_level().rows([TEXT])
        count = self.stem.count(lengths)
        path = torch.tensor([*row, *[0] * (int(count) - len(row))])[None]
        return 9.0 * torch.nn.functional.one_hot(path, 260), count

    monkeypatch.setattr(Ctc, "emit", emit)


@pytest.mark.usefixtures("says")
def test_files_are_written_down(run: Run, write: Write, checkpoint: Callable[..., Path]) -> None:
    folder, first, second = checkpoint(), write("a.wav", seconds=0.8), write("b.flac", seconds=1.0)
    for options in ((), ("--int8",)):
        assert run("transcribe", first, "--model", folder, *options) == (0, f"{TEXT}\n", "")
    code, out, _ = run("transcribe", first, second, "--model", folder, "--beam", 3)
    assert (code, out) == (0, f"{first}\t{TEXT}\n{second}\t{TEXT}\n")


@pytest.mark.usefixtures("says")
def test_times_of_words_are_told(run: Run, write: Write, checkpoint: Callable[..., Path]) -> None:
    folder, file = checkpoint(), write("a.wav", seconds=0.8)
    assert run("transcribe", file, "--model", folder, "--timestamps")[1] == "0.00\t0.12\tone\n0.16\t0.28\ttwo\n"
    found = json.loads(run("transcribe", file, "--model", folder, "--timestamps", "--json")[1])
    assert found["words"] == [
        {"word": "one", "start_ms": 0, "end_ms": 120},
        {"word": "two", "start_ms": 160, "end_ms": 280},
    ]
    assert (found["file"], found["text"]) == (str(file), TEXT)
    assert found["score"] < 0
    assert "words" not in json.loads(run("transcribe", file, "--model", folder, "--json")[1])


@pytest.mark.usefixtures("says")
def test_a_file_that_cannot_be_read_is_named_skipped_and_counted(
    run: Run, write: Write, checkpoint: Callable[..., Path], tmp_path: Path
) -> None:
    good, bad, missing = write("a.wav", seconds=0.8), tmp_path / "bad.wav", tmp_path / "missing.wav"
    bad.write_bytes(b"this is a text")
    code, out, err = run("transcribe", bad, good, missing, "--model", checkpoint())
    assert (code, out) == (1, f"{good}\t{TEXT}\n")
    lines = err.splitlines()
    assert lines[0].startswith(f"zoo: skipped: '{bad}' cannot be read as sound")
    assert lines[1:] == [f"zoo: skipped: There is no file '{missing}'", "zoo: 2 of 3 files skipped"]


@pytest.mark.parametrize("by", ["attention", "joint"])
def test_a_decoder_writes_as_it_does_in_python(
    run: Run, write: Write, checkpoint: Callable[..., Path], by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zoo.plugins.shared.audio.asr.LONGEST", 8)
    folder, file = checkpoint(by), write("a.wav", seconds=0.2)
    name = f"local-dir:{folder}"
    model: Any = zoo.create(name, pretrained=True).eval()
    wanted = model.generate(*zoo.preprocess(name)(file), beam=2)
    found = json.loads(run("transcribe", file, "--model", folder, "--json", "--beam", 2)[1])
    assert [found["text"]] == zoo.postprocess(name)(wanted)
    assert found["score"] == pytest.approx(wanted.scores.item())


def test_times_need_vectors_that_emit(run: Run, write: Write, checkpoint: Callable[..., Path]) -> None:
    code, _, err = run("transcribe", write("a.wav"), "--model", checkpoint("attention"), "--timestamps")
    assert code == 2
    assert "made with by='attention': only models made with by='ctc' or by='joint' tell when" in err


def test_a_model_that_does_not_transcribe_is_refused(run: Run, write: Write) -> None:
    code, _, err = run("transcribe", write("a.wav"), "--model", "transformer-tiny")
    assert code == 2
    assert "is a 'transformer-tiny' for task 'generate', which transcribes no sounds" in err


def test_a_folder_of_transformers_transcribes_sounds_of_any_rate(
    run: Run, write: Write, transformers_ctc: Callable[..., Any]
) -> None:
    theirs = transformers_ctc()
    first, second = write("a.wav", seconds=0.8, rate=44_100), write("b.flac", seconds=0.5, channels=2)
    code, out, err = run("transcribe", first, second, "--model", theirs.folder)
    assert (code, "skipped" in err) == (0, False)
    name = f"local-dir:{theirs.folder}"
    model: Any = zoo.create(name).eval()
    preprocess, postprocess = zoo.preprocess(name), zoo.postprocess(name)
    texts = [postprocess(model.generate(*preprocess([str(file)])))[0] for file in (first, second)]
    assert out == f"{first}\t{texts[0]}\n{second}\t{texts[1]}\n"
    assert all(texts)
    found = json.loads(run("transcribe", first, "--model", theirs.folder, "--timestamps", "--json")[1])
    assert " ".join(word["word"] for word in found["words"]) == found["text"] == texts[0]
    assert all(word["start_ms"] % 20 == 0 and word["end_ms"] <= 800 for word in found["words"])
    code, _, err = run("transcribe", first, "--model", theirs.folder, "--stream")
    assert code == 2
    assert "wav2vec 2.0 reads a sound whole" in err


def test_published_weights_without_a_vocabulary_are_refused_before_they_are_fetched(
    run: Run, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    folder = tmp_path / "hub" / "models--facebook--wav2vec2-base"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text("0" * 40)
    (folder / "snapshots" / ("0" * 40)).mkdir(parents=True)
    code, _, err = run("transcribe", write("a.wav"), "--model", "wav2vec2-base")
    assert code == 2
    assert "have no vocabulary, as they were not trained to write. Other weights are wav2vec2-base.960h" in err
