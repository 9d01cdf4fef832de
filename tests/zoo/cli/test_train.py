"""`zoo train`, `zoo generate` and `zoo predict` from the command line."""

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from PIL import Image

import zoo
from zoo.cli.arguments import check_not_empty, read_inputs, stream_inputs
from zoo.cli.train import overrides
from zoo.errors import ConfigError, InputError
from zoo.plugins.text.io import preprocess
from zoo.training.callbacks.callback import Request
from zoo.weights import hub

Run = Callable[..., tuple[int, str, str]]

TINY = ["--set", "dim=16", "--set", "depth=1", "--set", "num_heads=2", "--set", "mlp_dim=16"]
SIZE: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}


@pytest.fixture(autouse=True)
def _light(one_thread: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute with one thread, and draw no figure."""
    monkeypatch.setattr("zoo.training.callbacks.save_run.draw", lambda *arguments: None)


@pytest.fixture
def labeller(tmp_path: Path) -> str:
    """Save a small model of pictures, with names of its labels."""
    model = zoo.create("vit-micro", num_classes=2, **SIZE)
    zoo.weights.save(model, tmp_path / "labeller")
    (tmp_path / "labeller" / "labels.json").write_text('["cat", "dog"]')
    return str(tmp_path / "labeller")


def train(run: Run, out: Path, *more: str) -> tuple[int, str, str]:
    options = ["--steps", "4", "--validations", "2", "--batch-size", "4", "--precision", "32-true"]
    return run("train", "vit-micro", "--data", "digits", "--out", str(out), *options, *TINY, *more)


def test_a_training_shows_what_it_learns_and_saves_it(run: Run, tmp_path: Path) -> None:
    code, out, _ = train(run, tmp_path / "out")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].split()[:4] == ["step", "2", "training", "loss"]
    assert re.fullmatch(r"4 steps; best at step [24], by (accuracy|loss) [\d.]+(, at equal accuracy [\d.]+)?", lines[2])
    assert lines[3].startswith("test:  accuracy 0.")
    assert lines[4] == f"saved in {tmp_path / 'out'}"
    command = json.loads((tmp_path / "out" / "training.json").read_text())["command"]
    assert command.startswith("zoo train vit-micro --data digits")
    code, _, err = train(run, tmp_path / "out")
    assert code == 2
    assert err.startswith(f"zoo: --out '{tmp_path / 'out'}' holds a training: --resume continues it, --overwrite")
    again = train(run, tmp_path / "out", "--resume")[1].splitlines()
    assert again == [f"{tmp_path / 'out'} holds this training, finished: its result is", *lines[2:4]]


def test_going_on_with_nothing_says_that_it_begins(run: Run, tmp_path: Path) -> None:
    told = "no checkpoint to resume from yet: starting at step 0"
    code, out, _ = train(run, tmp_path / "out", "--resume")
    assert (code, out.splitlines()[0]) == (0, told)
    assert told not in train(run, tmp_path / "out", "--resume")[1]
    assert told not in train(run, tmp_path / "new")[1]


def test_a_folder_that_cannot_be_written_is_an_error_before_the_training(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, out, err = train(run, tmp_path / "file")
    assert (code, out, err) == (2, "", f"zoo: --out '{tmp_path}/file' is no folder\n")
    code, out, err = train(run, tmp_path / "file" / "deep" / "er")
    assert (code, out, err) == (2, "", f"zoo: --out '{tmp_path}/file/deep/er': '{tmp_path}/file' is no folder\n")


def test_ctrl_c_says_how_to_go_on(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("zoo.training.callbacks.signals.StopOnSignal.request", lambda self: Request(True, True))
        code, _, err = train(run, tmp_path / "out")
    assert code == 130
    first, second = err.splitlines()[-2:]
    assert first == "stopped after step 1; to resume:"
    assert second.startswith("  zoo train vit-micro --data digits --out")
    assert second.endswith(" --resume")
    assert train(run, tmp_path / "out", "--resume")[1].startswith("resumed after step 1 of 4")


def test_an_unknown_name_source_or_setting_is_an_error(run: Run, tmp_path: Path) -> None:
    out = ["--out", str(tmp_path / "out")]
    assert run("train", "vit-micr", "--data", "digits", *out)[2].startswith("zoo: Unknown model (vit-micr). Did you")
    assert "Unknown source (digit)" in run("train", "vit-micro", "--data", "digit", *out)[2]
    assert "there is no file or folder './gone'" in run("train", "vit-micro", "--data", "./gone", *out)[2]
    assert "hight" in run("train", "vit-micro", "--data", "digits", "--set", "hight=3", *out)[2]
    assert not (tmp_path / "out" / "model.safetensors").exists()


@pytest.mark.parametrize(("flag", "given"), [((), None), (("--pretrained",), True), (("--no-pretrained",), False)])
def test_whether_weights_are_loaded_is_left_to_the_name_unless_it_is_said(
    flag: tuple[str, ...], given: bool | None, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def start(*_: Any, **keywords: Any) -> SimpleNamespace:
        seen.append(keywords["pretrained"])
        return SimpleNamespace(first=False)

    monkeypatch.setattr("zoo.training.api.train", start)
    assert run("train", "local-dir:some", "--data", "reverse", "--out", "out", *flag)[0] == 0
    assert seen == [given]


def test_settings_are_read_as_json_or_text() -> None:
    given = ["depth=4", "dropout=0.1", "attention=window:8 & causal", "bias=false", "size=[1,2]", "max-len=9"]
    assert overrides(given) == {
        "depth": 4, "dropout": 0.1, "attention": "window:8 & causal", "bias": False, "size": [1, 2], "max_len": 9,
    }  # fmt: skip
    assert overrides(["decoder.depth=2"]) == {"decoder.depth": 2}
    with pytest.raises(ConfigError, match="--set 'depth': write KEY=VALUE"):
        overrides(["depth"])
    with pytest.raises(ConfigError, match="--set depth is given twice: 4 and 5"):
        overrides(["depth=4", "depth=5"])


def test_a_text_is_answered(run: Run, writer: str) -> None:
    code, out, _ = run("generate", writer, "abc", "de", "--max-len", "5")
    assert code == 0
    assert len(out.splitlines()) == 2
    assert len(run("generate", writer, "abc", "de", "--max-len", "5", "--int8")[1].splitlines()) == 2
    piped = run("generate", writer, "--max-len", "5", piped=b"abc\nde\n")
    assert piped[1] == out


def test_a_model_that_could_write_for_ever_ends(run: Run, writer: str) -> None:
    code, out, _ = run("generate", writer, "abc", "--json")
    assert code == 0
    assert len(json.loads(out)["answers"]) == 1


def test_the_best_answers_come_with_their_scores_in_order(run: Run, writer: str) -> None:
    _, out, _ = run("generate", writer, "abc", "--beam", "4", "--n-best", "3", "--max-len", "3", "--json")
    found = json.loads(out)
    scores = [answer["score"] for answer in found["answers"]]
    assert found["input"] == "abc"
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)


def test_temperature_0_is_greedy_and_says_so(run: Run, writer: str) -> None:
    greedy = run("generate", writer, "abc", "--max-len", "6")[1]
    code, out, err = run("generate", writer, "abc", "--max-len", "6", "--temperature", "0")
    assert (code, out) == (0, greedy)
    assert "greedy" in err


def test_a_search_at_temperature_0_is_a_search(run: Run, writer: str) -> None:
    wish = ["generate", writer, "abc", "--max-len", "4", "--beam", "2"]
    code, out, _ = run(*wish, "--temperature", "0")
    assert (code, out) == (0, run(*wish)[1])


def test_a_stream_is_the_answer_in_pieces(run: Run, writer: str) -> None:
    whole = run("generate", writer, "abc", "--max-len", "8")[1]
    code, out, _ = run("generate", writer, "abc", "--max-len", "8", "--stream")
    assert (code, out) == (0, whole)
    assert "--stream shows one answer" in run("generate", writer, "abc", "--stream", "--beam", "2")[2]


def test_constraints_are_options(run: Run, writer: str) -> None:
    wish = ["generate", writer, "abc", "--max-len", "8"]
    free = run(*wish)[1]
    penalised = run(*wish, "--repetition-penalty", "1.5", "--no-repeat-ngram-size", "1", "--min-len", "3")[1]
    letters = penalised.rstrip("\n")
    assert penalised != free
    assert len(set(letters)) == len(letters) or "\ufffd" in letters
    code, out, _ = run(*wish, "--stop", free[0], "--stop", "never")
    assert (code, out) == (0, f"{free[0]}\n")
    assert run(*wish, "--stop", free[0], "--stream")[1] == out
    assert "--stop ['']: an empty string stands everywhere" in run(*wish, "--stop", "")[2]
    assert "--min-len 9 is above --max-len 8" in run(*wish, "--min-len", "9")[2]


def test_a_target_is_scored_as_if_it_were_generated(run: Run, writer: str) -> None:
    wish = ["generate", writer, "abc", "--max-len", "8", "--length-penalty", "0", "--json"]
    answer = json.loads(run(*wish)[1])["answers"][0]
    code, out, _ = run("generate", writer, "abc", "de", "--target", "xy", "--json")
    first, other = (json.loads(line) for line in out.splitlines())
    assert code == 0
    assert first["target"] == "xy"
    assert first["score"] != other["score"]
    assert max(first["score"], other["score"]) < 0 > answer["score"]
    told = "--target 'xy' scores a given answer: without {}\n"
    for option in (["--beam", "2"], ["--min-len", "3"], ["--stop", "a"], ["--temperature", "2"], ["--max-len", "2"]):
        assert told.format(option[0]) in run("generate", writer, "abc", "--target", "xy", *option)[2]


def test_a_stream_is_one_answer_that_no_search_ranks(run: Run, writer: str) -> None:
    for option in (["--beam", "2"], ["--length-penalty", "2"], ["--json"]):
        code, out, told = run("generate", writer, "abc", "--stream", *option)
        assert (code, out) == (2, "")
        assert told == f"zoo: --stream shows one answer while it is written: without {option[0]}\n"


def test_draws_repeat_with_their_seed(run: Run, writer: str) -> None:
    wishes = ["--temperature", "2.0", "--max-len", "12", "--json"]
    draws = [run("generate", writer, "abc", *wishes, "--seed", seed)[1] for seed in "112"]
    assert draws[0] == draws[1] != draws[2]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--beam", "0"], "--beam 0:"),
        (["--top-p", "1.5"], "--top-p 1.5"),
        (["--file", "gone.txt"], "--file 'gone.txt'"),
    ],
)
def test_wishes_that_cannot_be_are_errors(run: Run, writer: str, options: list[str], error: str) -> None:
    texts = [] if "--file" in options else ["abc"]
    code, _, err = run("generate", writer, *texts, *options)
    assert code == 2
    assert error in err


def test_pictures_are_labelled(run: Run, labeller: str, tmp_path: Path) -> None:
    picture = str(tmp_path / "a.png")
    Image.linear_gradient("L").save(picture)
    code, out, _ = run("predict", labeller, picture, "--json")
    labels = json.loads(out)["labels"]
    assert code == 0
    assert set(labels) == {"cat", "dog"}
    assert sum(labels.values()) == pytest.approx(1.0, abs=1e-6)
    best = max(labels, key=lambda label: labels[label])
    assert run("predict", labeller, picture, "--top", "1")[1] == f"{picture}\t{best} {labels[best]:.3f}\n"
    code, _, err = run("predict", labeller, str(tmp_path / "gone.png"))
    assert code == 2
    assert "gone.png" in err


def test_of_labels_that_do_not_exclude_each_other_those_above_a_threshold_are_printed(run: Run, tmp_path: Path) -> None:
    model = zoo.create("vit-micro", num_classes=3, task="multi-label", **SIZE)
    model.head.linear.weight.data.zero_()
    model.head.linear.bias.data = torch.tensor([2.0, -1.0, 0.5])
    zoo.weights.save(model, tmp_path / "labels")
    (tmp_path / "labels" / "labels.json").write_text('["cat", "dog", "owl"]')
    picture, labels = str(tmp_path / "a.png"), str(tmp_path / "labels")
    Image.linear_gradient("L").save(picture)
    assert run("predict", labels, picture)[1] == f"{picture}\tcat 0.881  owl 0.622\n"
    assert run("predict", labels, picture, "--threshold", "0.9")[1] == f"{picture}\t(none)\n"
    both = ("--threshold", "0.7", "--threshold", "dog=0.2")
    assert run("predict", labels, picture, *both)[1] == f"{picture}\tcat 0.881  dog 0.269\n"
    assert sum(json.loads(run("predict", labels, picture, "--json")[1])["labels"].values()) == pytest.approx(
        1.7722, abs=1e-4
    )
    assert "--threshold 2: a probability is wanted" in run("predict", labels, picture, "--threshold", "2")[2]
    assert "the labels are cat, dog, owl" in run("predict", labels, picture, "--threshold", "cow=0.2")[2]
    assert "--top 2 of a model of task 'multi-label'" in run("predict", labels, picture, "--top", "2")[2]


def test_a_threshold_is_refused_where_an_input_has_one_label(run: Run, labeller: str) -> None:
    assert "which gives one label: see --top" in run("predict", labeller, "a.png", "--threshold", "0.2")[2]


def test_graphs_are_labelled_line_by_line(run: Run, tmp_path: Path) -> None:
    lines = [
        json.dumps({"edges": [[node, node + 1] for node in range(count)], "label": "ab"[count % 2]})
        for count in range(1, 17)
    ]
    (tmp_path / "g.jsonl").write_text("\n".join(lines))
    out = str(tmp_path / "run")
    options = ["--steps", "1", "--batch-size", "4", "--set", "dim=8", "--set", "depth=1", "--set", "num_heads=2"]
    assert run("train", "graph-tiny", "--data", f"graphs:{tmp_path / 'g.jsonl'}", "--out", out, *options)[0] == 0
    code, answers, _ = run("predict", out, "--file", str(tmp_path / "g.jsonl"), "--top", "2")
    assert code == 0
    assert [set(answer.split("\t")[1].split()[::2]) for answer in answers.splitlines()] == [{"a", "b"}] * 16


def test_of_several_inputs_those_that_cannot_be_read_are_skipped(run: Run, labeller: str, tmp_path: Path) -> None:
    picture, gone = str(tmp_path / "0.png"), str(tmp_path / "gone.png")
    Image.linear_gradient("L").save(picture)
    code, out, err = run("predict", labeller, picture, gone, picture)
    assert (code, len(out.splitlines())) == (1, 2)
    assert err.startswith(f"zoo: skipped {gone!r}: an input cannot be read: ")
    assert err.endswith("zoo: 1 of 3 inputs skipped\n")
    code, out, err = run("predict", labeller, gone, gone)
    assert (code, out) == (2, "")
    assert "no input can be read, of 2 inputs" in err


def test_a_checkpoint_of_another_kind_says_what_to_run(run: Run, writer: str, labeller: str) -> None:
    assert "does not generate: use zoo predict" in run("generate", labeller, "abc")[2]
    assert "use zoo generate" in run("predict", writer, "abc")[2]


def test_a_model_that_does_not_write_is_known_before_its_weights_are_fetched(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in ((hub, "fetch"), (preprocess, "fetch_tokenizer")):
        monkeypatch.setattr(module, name, lambda *arguments: pytest.fail("asked the hub"))
    assert "'bert-tiny', which does not generate: use zoo predict" in run("generate", "bert-tiny", "abc")[2]


@pytest.mark.parametrize(
    ("command", "option", "ours"),
    [
        ("generate", "--num-beams=4", "beam"),
        ("generate", "--max-new-tokens", "max-len"),
        ("train", "--lr", "learning-rate"),
    ],
)
def test_options_of_other_libraries_are_answered_by_ours(run: Run, command: str, option: str, ours: str) -> None:
    code, _, err = run(command, "bert-tiny", option, "4")
    assert (code, err) == (2, f"zoo: there is no {option.partition('=')[0]}: it is --{ours} here\n")


def test_what_is_no_checkpoint_is_an_error(run: Run, writer: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "holds no checkpoint: there is no config.json" in run("generate", str(tmp_path / "empty"), "abc")[2]
    assert f"there is no folder '{tmp_path}/gone'" in run("generate", f"{tmp_path}/gone", "abc")[2]
    assert "is a file: give the folder" in run("predict", f"{writer}/model.safetensors", "abc")[2]
    config = Path(writer) / "config.json"
    config.write_text(config.read_text().replace('"depth": 1', '"depth": 2'))
    code, _, err = run("generate", writer, "abc")
    assert code == 2
    assert f"Weights of 'local-dir:{writer}' (a 'transformer-tiny') do not fit 'transformer-tiny'" in err
    assert err.count(", ") < 10
    assert " more" in err


def test_what_is_no_text_is_named_with_its_line(run: Run, writer: str) -> None:
    code, out, err = run("generate", writer, "--max-len", "2", piped=b"good\nbad \xff\n")
    assert (code, out.count("\n")) == (1, 1)  # the others are answered
    assert "what is piped in, line 2: no UTF-8 at byte 5" in err
    assert "holds no text" in run("generate", writer, piped=b"\n")[2]


def test_a_text_of_nothing_is_no_text(run: Run, writer: str) -> None:
    assert "text 2 is '': there is nothing to read" in run("generate", writer, "abc", "")[2]


def test_labels_of_nothing_are_not_asked() -> None:
    with pytest.raises(InputError, match="text 1 is ' ': there is nothing to read"):
        check_not_empty([" "])


@pytest.mark.parametrize("command", ["generate", "predict"])
def test_what_is_neither_folder_nor_model_is_said_to_be_neither(run: Run, command: str) -> None:
    assert "There is no folder 'nowhere', and no model.\nUnknown model (nowhere)." in run(command, "nowhere", "x")[2]


def test_lines_of_a_file_are_checked_before_the_first_is_answered(run: Run, writer: str, tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_bytes(b"abc\r\n" * 100 + b"bad \xff\n")
    code, out, err = run("predict", writer, "--file", str(file))
    assert (code, out) == (2, "")
    assert f"'{file}', line 101: no UTF-8 at byte 5" in err
    file.write_bytes(b"abc\n\n")
    assert "text 2 is '': there is nothing to read" in run("predict", writer, "--file", str(file))[2]
    assert "cannot be read" in run("predict", writer, "--file", str(tmp_path / "gone"))[2]


def test_lines_are_those_between_line_breaks_of_any_kind(tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_bytes("a\r\nb\rc\n\nd\u2028e".encode())
    lines = stream_inputs(None, str(file))
    assert list(lines) == list(lines) == read_inputs(None, str(file)) == ["a", "b", "c", "", "d\u2028e"]


def test_what_is_piped_in_is_read_as_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.TextIOWrapper(io.BytesIO(b"first\nsecond\nbad \xff\n"))
    monkeypatch.setattr(sys, "stdin", pipe)
    lines = iter(check_not_empty(stream_inputs(None, "-")))
    assert [next(lines), next(lines)] == ["first", "second"]
    with pytest.raises(InputError, match="what is piped in, line 3: no UTF-8 at byte 5"):
        next(lines)
