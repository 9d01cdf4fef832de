"""Texts through `zoo.train`: a table of pairs, a vocabulary that is learned, the aids, what is left in the folder."""

import gzip
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

import zoo
from zoo.errors import DataError
from zoo.plugins.text.data import open_files
from zoo.training.callbacks.callback import Request
from zoo.training.trainer import Trained

TINY: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}
AIDS = {"scheduled_sampling": 0.5, "corrupt": 0.2, "guided_attention": 1.0, "monotonic": 0.5}


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """Write pairs of words and the same words backwards."""
    words = [f"{a}{b}{c}" for a in "abcde" for b in "fghi" for c in "jkl"]
    (tmp_path / "pairs.tsv").write_text("".join(f"{word}\t{word[::-1]}\n" for word in words))
    return tmp_path / "pairs.tsv"


def train(pairs: Path, **options: Any) -> Trained:
    settings: dict[str, Any] = {"steps": 4, "validations": 2, "batch_size": 8, "precision": "32-true"}
    settings["tokenizer"] = "wordpiece:60"  # learned again, ties may break another way
    return zoo.train("transformer-tiny", str(pairs), out=pairs.parent / "out", **(settings | TINY | AIDS | options))


def test_pairs_of_texts_train_a_model_that_answers_with_text(pairs: Path) -> None:
    trained = train(pairs)
    name = f"local-dir:{pairs.parent / 'out'}"
    model: Any = zoo.create(name, pretrained=True).eval()
    inputs = zoo.preprocess(name)(["afj", "bgk"])
    answers = zoo.postprocess(name)(model.generate(*inputs, max_len=4))
    assert [type(answer) for answer in answers] == [str, str]
    wanted: Any = trained.model
    assert torch.equal(wanted.generate(*inputs, max_len=4).ids, model.generate(*inputs, max_len=4).ids)
    record = json.loads((pairs.parent / "out" / "training.json").read_text())
    assert record["settings"]["label_smoothing"] == 0.1
    assert record["settings"]["optimizer"] == "muon"


@pytest.mark.parametrize("tokenizer", ["byte", "wordpiece:60"])
def test_a_training_on_text_goes_on_with_the_vocabulary_it_learned(
    pairs: Path, monkeypatch: pytest.MonkeyPatch, tokenizer: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("zoo.training.callbacks.signals.StopOnSignal.request", lambda self: Request(True, True))
        assert train(pairs, tokenizer=tokenizer).outcome.steps == 1
    learned = (pairs.parent / "out" / "tokenizer.json").read_bytes()
    resumed = train(pairs, tokenizer=tokenizer, resume=True)
    assert resumed.outcome.steps == 4
    assert (pairs.parent / "out" / "tokenizer.json").read_bytes() == learned
    if tokenizer == "byte":
        whole = train(pairs, tokenizer=tokenizer, overwrite=True).model.state_dict()
        assert all(torch.equal(value, whole[key]) for key, value in resumed.model.state_dict().items())


def test_hard_attention_is_trained_by_reinforce_and_resumes_exactly(
    pairs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"tokenizer": "byte", "attention": "hard"}
    with monkeypatch.context() as patch:
        patch.setattr("zoo.training.callbacks.signals.StopOnSignal.request", lambda self: Request(True, True))
        assert train(pairs, **options).settings.reinforce == 1.0
    resumed = train(pairs, **options, resume=True).model.state_dict()
    whole = train(pairs, **options, overwrite=True).model.state_dict()
    assert all(torch.equal(value, whole[key]) for key, value in resumed.items())
    with pytest.raises(zoo.ConfigError, match=r"reinforce=0.0 .* attention='hard': REINFORCE is all that trains"):
        train(pairs, **options, reinforce=0.0, overwrite=True)


def test_the_data_have_to_be_the_same(pairs: Path) -> None:
    train(pairs)
    pairs.write_text(pairs.read_text().replace("afj", "xyz"))
    with pytest.raises(
        zoo.ConfigError,
        match=r"was another.*\n  fingerprint(.*\n)*The fingerprint is that",
    ):
        train(pairs, resume=True)


@pytest.fixture
def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write two compressed files of lines, and let them be a stream."""
    monkeypatch.setattr(open_files, "LARGE", 0)
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    for part in "ab":
        text = "".join(f"line {part} {number} of {number * 7919 % 1000} words\n" for number in range(500))
        (tmp_path / f"{part}.txt.gz").write_bytes(gzip.compress(text.encode()))
    return tmp_path


def train_lines(folder: Path, data: str = "", out: Path | None = None, **options: Any) -> Trained:
    settings: dict[str, Any] = {"steps": 4, "validations": 2, "batch_size": 8, "precision": "32-true", "max_len": 32}
    source = f"lines:{folder}/*.txt.gz{data}"
    return zoo.train("decoder-tiny", source, out=out or folder / "out", **(settings | TINY | options))


@pytest.mark.parametrize("tokenizer", ["byte", "bpe:300"])
def test_a_training_on_packed_texts_goes_on_bit_for_bit(
    lines: Path, monkeypatch: pytest.MonkeyPatch, tokenizer: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("zoo.training.callbacks.signals.StopOnSignal.request", lambda self: Request(True, True))
        assert train_lines(lines, tokenizer=tokenizer).outcome.steps == 1
    resumed = train_lines(lines, tokenizer=tokenizer, resume=True)
    assert resumed.outcome.steps == 4
    whole = train_lines(lines, tokenizer=tokenizer, overwrite=True).model.state_dict()
    assert all(torch.equal(value, whole[key]) for key, value in resumed.model.state_dict().items())


def test_a_file_added_or_removed_is_told_where_a_training_goes_on(lines: Path) -> None:
    train_lines(lines, tokenizer="byte")
    (lines / "c.txt.gz").write_bytes((lines / "a.txt.gz").read_bytes())
    with pytest.raises(zoo.ConfigError, match="The fingerprint is that of the data: files were added, removed"):
        train_lines(lines, tokenizer="byte", resume=True)
    (lines / "c.txt.gz").unlink()
    assert train_lines(lines, tokenizer="byte", resume=True).outcome.steps == 4
    (lines / "b.txt.gz").unlink()
    with pytest.raises(zoo.ConfigError, match="The fingerprint is that of the data: files were added, removed"):
        train_lines(lines, tokenizer="byte", resume=True)


@pytest.mark.parametrize("tokenizer", ["byte", "bpe:300"])
@pytest.mark.filterwarnings("ignore:This DataLoader will create 4 worker")
def test_weights_on_packed_texts_do_not_depend_on_the_workers(lines: Path, tokenizer: str) -> None:
    found = [
        train_lines(lines, tokenizer=tokenizer, workers=workers, overwrite=True).model.state_dict()
        for workers in (0, 2, 4)
    ]
    for other in found[1:]:
        assert all(torch.equal(value, other[key]) for key, value in found[0].items())


KILLED = """
import json, sys
from zoo.plugins.text.data import open_files
open_files.LARGE = 0
import zoo
zoo.train(**json.loads(sys.argv[1]))
"""


@pytest.mark.slow
def test_a_training_on_packed_texts_that_is_killed_with_workers_goes_on_bit_for_bit(lines: Path) -> None:
    options: dict[str, Any] = {"tokenizer": "byte", "steps": 40, "validations": 40, "workers": 2, "dropout": 0.1}
    whole = train_lines(lines, **options).model.state_dict()
    out = lines / "killed"
    settings: dict[str, Any] = {"name": "decoder-tiny", "train": f"lines:{lines}/*.txt.gz", "out": str(out)}
    settings |= {"batch_size": 8, "precision": "32-true", "max_len": 32, "resume": True} | TINY | options
    process = subprocess.Popen([sys.executable, "-c", KILLED, json.dumps(settings)])
    while process.poll() is None and not list((out / "state").glob("step-*")):
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    resumed = train_lines(lines, **options, out=out, resume=True)
    assert resumed.outcome.steps == 40
    assert all(torch.equal(value, whole[key]) for key, value in resumed.model.state_dict().items())


def test_a_file_of_fewer_texts_than_a_batch_trains(lines: Path) -> None:
    (lines / "few.txt").write_text("one\ntwo\nthree\nfour\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(open_files, "LARGE", 2**30)
        options: dict[str, Any] = {
            "steps": 2,
            "validations": 1,
            "batch_size": 64,
            "tokenizer": "byte",
            "max_len": 32,
        } | TINY
        assert zoo.train("decoder-tiny", f"lines:{lines / 'few.txt'}", out=lines / "out", **options).outcome.steps == 2
    with pytest.raises(DataError, match=r"few.txt has no example for (train|validation|test): give a file for it"):
        zoo.train("decoder-tiny", f"lines:{lines / 'few.txt'}", out=lines / "out", overwrite=True, **options)
