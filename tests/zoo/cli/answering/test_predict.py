"""`zoo predict`: formats, pairs, feature vectors, and input without end."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import zoo
from zoo.pipeline import Pipeline

Run = Callable[..., tuple[int, str, str]]
SIZE: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}


def saved(folder: Path, **options: Any) -> str:
    torch.manual_seed(0)
    zoo.weights.save(zoo.create("bert-micro", **SIZE, **options), folder)
    read: Any = zoo.preprocess("bert-micro")
    read.tokenizer.save(folder / "tokenizer.json")
    if "num_classes" in options:
        (folder / "labels.json").write_text('["yes", "no"]')
    return str(folder)


@pytest.fixture
def labeller(tmp_path: Path) -> str:
    return saved(tmp_path / "labeller", num_classes=2)


def test_formats_and_number_of_labels(labeller: str, run: Run) -> None:
    code, out, told = run("predict", labeller, "a text", "another", "--format", "csv", "--top", "2")
    assert code == 0, told
    assert [line.split(",")[0] for line in out.splitlines()] == ["input", "a text", "another"]
    rows = [json.loads(line) for line in run("predict", labeller, "a text", "b", "--format", "jsonl")[1].splitlines()]
    assert [set(row["labels"]) for row in rows] == [{"yes", "no"}] * 2
    assert run("predict", labeller, "a text", "b", "--json", "--top", "1")[1].count('"yes"') <= 2
    assert run("predict", labeller, "a", "--format", "xml")[0] == 2


def test_blank_lines_of_a_pipe_are_skipped_and_told(labeller: str, run: Run) -> None:
    code, out, told = run("predict", labeller, piped=b"a\n\nb\n")
    assert code == 1
    assert [line.split("\t")[0] for line in out.splitlines()] == ["a", "b"]
    assert "skipped ''" in told
    assert "1 of 3 inputs skipped" in told


def test_lines_of_a_pipe_that_are_no_utf_8_are_skipped_and_told(labeller: str, run: Run) -> None:
    code, out, told = run("predict", labeller, piped=b"a\nbad \xff\nb\n")
    assert code == 1
    assert [line.split("\t")[0] for line in out.splitlines()] == ["a", "b"]
    assert "skipped 'bad \N{REPLACEMENT CHARACTER}': what is piped in, line 2: no UTF-8 at byte 5" in told
    assert "1 of 3 inputs skipped" in told
    code, _, told = run("predict", labeller, piped=b"\xff\n")
    assert code == 2
    assert "what is piped in, line 1: no UTF-8 at byte 1" in told


def test_pairs_are_read_as_two_texts(labeller: str, run: Run) -> None:
    code, out, told = run("predict", labeller, "--pairs", "--json", piped=b"one\ttwo\ntwo\tone\n")
    assert code == 0, told
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["input"] for row in rows] == [["one", "two"], ["two", "one"]]
    assert rows[0]["labels"] != rows[1]["labels"]
    code, _, told = run("predict", labeller, "--pairs", "one")
    assert (code, "--pairs: input 1, 'one', is not two with a tab between" in told) == (2, True)


def test_feature_vectors_are_those_that_the_head_pools(labeller: str, run: Run, tmp_path: Path) -> None:
    out = tmp_path / "a.npz"
    code, _, told = run("predict", labeller, "a text", "another", "--features", str(out))
    assert code == 0, told
    pipeline = Pipeline(labeller)
    pipeline.model.reset_classifier(0)
    with torch.no_grad():
        wanted = pipeline.model(*pipeline.inputs(["a text", "another"]))
    with np.load(out) as found:
        np.testing.assert_allclose(found["features"], wanted.numpy(), atol=1e-6)
        assert json.loads(found["inputs.json"]) == ["a text", "another"]
    code, _, told = run("predict", labeller, "a", "--features", str(tmp_path / "a.csv"))
    assert (code, told) == (2, f"zoo: --features '{tmp_path}/a.csv': its ending is none of .npz\n")


@pytest.mark.parametrize("option", [["--top", "2"], ["--format", "csv"], ["--json"], ["--threshold", "0.3"]])
def test_options_of_labels_are_refused_beside_feature_vectors(
    option: list[str], labeller: str, run: Run, tmp_path: Path
) -> None:
    code, _, told = run("predict", labeller, "a", "--features", str(tmp_path / "a.npz"), *option)
    assert (code, told) == (2, f"zoo: {' '.join(option)} with --features: vectors are written in place of labels\n")


def test_what_has_no_most_probable_labels_has_no_top(run: Run, tmp_path: Path) -> None:
    tagger = saved(tmp_path / "tagger", num_classes=2, task="tag")
    code, _, told = run("predict", tagger, "a b", "--top", "2")
    assert (code, told) == (2, "zoo: --top 2 of a model of task 'tag', which gives one label each\n")
    zoo.weights.save(zoo.create("graph-tiny", depth=1, num_classes=2, target="numbers"), tmp_path / "numbers")
    code, _, told = run("predict", str(tmp_path / "numbers"), "CCO", "--top", "1")
    assert (code, "which answers numbers, all of which are shown" in told) == (2, True)


def test_models_without_labels_have_feature_vectors(run: Run, writer: str, tmp_path: Path) -> None:
    code, _, told = run("predict", writer, "a text", "b", "--features", str(tmp_path / "a.npz"))
    assert code == 0, told
    with np.load(tmp_path / "a.npz") as found:
        both = found["features"]
    assert run("predict", writer, "b", "--features", str(tmp_path / "b.npz"))[0] == 0
    with np.load(tmp_path / "b.npz") as found:
        np.testing.assert_allclose(both[1:], found["features"], atol=1e-5)  # padding is no part of the mean


def test_masks_have_their_most_probable_tokens(tmp_path: Path, run: Run) -> None:
    folder = saved(tmp_path / "filler", task="masked-token")
    read: Any = zoo.preprocess("bert-micro")
    tokenizer = json.loads(read.tokenizer.backend.to_str())
    tokenizer["added_tokens"][3]["content"] = "[MASK]"
    tokenizer["model"]["vocab"] = {
        ("[MASK]" if place == 3 else token): place for token, place in tokenizer["model"]["vocab"].items()
    }
    if "unk_token" in tokenizer["model"]:
        tokenizer["model"]["unk_token"] = None
    (tmp_path / "filler" / "tokenizer.json").write_text(json.dumps(tokenizer))
    code, out, told = run("predict", folder, "ab[MASK]d[MASK]", "--json", "--top", "3")
    assert code == 0, told
    masks = json.loads(out)["masks"]
    assert [len(mask) for mask in masks] == [3, 3]
    for mask in masks:
        chances = [token["probability"] for token in mask]
        assert chances == sorted(chances, reverse=True)
        assert 0 < sum(chances) < 1


@pytest.mark.usefixtures("published")
def test_published_weights_without_labels_fill_masks(run: Run) -> None:
    code, out, told = run("predict", "bert-base", "the [MASK] sees", "--json", "--top", "5")
    assert code == 0, told
    assert [len(mask) for mask in json.loads(out)["masks"]] == [5]


@pytest.mark.slow
def test_a_pipe_without_end_is_answered_line_by_line(labeller: str) -> None:
    command = [sys.executable, "-m", "zoo", "predict", labeller, "--json", "--batch-size", "1"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for text in ("one", "two", "three"):  # each answer is there before the next line is written
            process.stdin.write(text + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["input"] == text
        process.stdin.close()
        assert process.wait(30) == 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_memory_stays_the_same_over_standard_input_without_end(labeller: str) -> None:
    """Ask 1,000 lines, then 20,000, of one process; it holds as much."""
    command = [sys.executable, "-m", "zoo", "predict", labeller, "--json", "--batch-size", "100", "--workers", "0"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1 << 20) as process:
        assert process.stdin
        assert process.stdout
        held = {}
        for number in range(200):
            process.stdin.write(b"".join(b"line %d of a pipe\n" % (100 * number + line) for line in range(100)))
            process.stdin.flush()
            for _ in range(100):
                assert b"labels" in process.stdout.readline()
            if number + 1 in (10, 100, 200):
                status = Path(f"/proc/{process.pid}/status").read_text()
                held[100 * (number + 1)] = int(status.partition("VmRSS:")[2].split()[0]) / 1024
        process.stdin.close()
        assert process.wait() == 0
    assert held[20_000] < 1.05 * held[1000], held  # buffers of other lengths of lines
    assert held[20_000] < 1.025 * held[10_000], held
