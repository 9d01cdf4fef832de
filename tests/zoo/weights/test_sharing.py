"""Weights pushed to, and loaded from, a stand-in of the hub."""

import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import zoo
from zoo.errors import ConfigError, ExportError, WeightsError
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=")  # huggingface_hub to its client, where it sends files
SIZE: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """Write a run folder, with a checkpoint that is not to be sent."""
    folder = tmp_path / "run"
    zoo.weights.save(zoo.create("vit-micro", num_classes=2, **SIZE), folder)
    (folder / "labels.json").write_text('["cat", "dog"]')
    record = {
        "data": "folder:pictures",
        "command": "zoo train vit-micro --data folder:pictures",
        "test": {"accuracy": 0.5},
    }
    (folder / "training.json").write_text(json.dumps(record))
    (folder / "state").mkdir()
    (folder / "state" / "latest.pt").write_bytes(b"a checkpoint")
    return folder


def test_a_run_is_pushed_with_a_card_and_loaded_by_name(run_folder: Path, hub: Any) -> None:
    url = zoo.weights.push(run_folder, "me/cats", licence="apache-2.0", private=True)
    assert url.endswith("/me/cats")
    sent = hub.repositories["me/cats"]["main"]
    assert set(sent) == {"README.md", "config.json", "model.safetensors", "labels.json", "training.json"}
    assert "zoo train vit-micro --data folder:pictures" in sent["README.md"].decode()
    assert hub.private == {"me/cats": True}
    model, again = (zoo.create(name).eval() for name in (f"local-dir:{run_folder}", "hf-hub:me/cats"))
    inputs = zoo.example("vit-micro")
    assert torch.equal(model(*inputs), again(*inputs))
    assert zoo.Pipeline("hf-hub:me/cats").postprocess.names == ["cat", "dog"]


def test_a_joined_model_is_pushed_with_the_tokenizers_of_both_sides(tmp_path: Path, hub: Any) -> None:
    pairs = (("encoder", "0123456789"), ("decoder", "abcdefghij"))
    tokenizers = {side: choose_tokenizer("char", "char", [text]) for side, text in pairs}
    sizes: dict[str, Any] = {
        "source_vocab_size": tokenizers["encoder"].vocab_size,
        "vocab_size": tokenizers["decoder"].vocab_size,
    }
    parts: dict[str, Any] = {f"{side}_config": SIZE for side in tokenizers}
    model = zoo.join("bert-micro", "decoder-tiny", **parts, **sizes, source_tokenizer="char").eval()
    folder = zoo.weights.save(model, tmp_path / "run")
    (folder / "source").mkdir()
    tokenizers["encoder"].save(folder / "source" / "tokenizer.json")
    tokenizers["decoder"].save(folder / "tokenizer.json")
    zoo.weights.push(folder, "me/joined", licence="mit")
    zoo.weights.push(zoo.create(f"local-dir:{folder}"), "me/again", licence="mit")
    inputs = zoo.preprocess("hf-hub:me/joined")(["105"])
    for name in ("hf-hub:me/joined", "hf-hub:me/again"):
        assert "source/tokenizer.json" in hub.repositories[name.partition(":")[2]]["main"]
        read_by: Any = zoo.preprocess(name)
        written_by: Any = zoo.postprocess(name)
        assert read_by.tokenizer.content == tokenizers["encoder"].content
        assert written_by.tokenizer.content == tokenizers["decoder"].content
        again: Any = zoo.create(name).eval()
        ids = torch.tensor([[1, 4]])
        assert torch.equal(again(*inputs, ids), model(*inputs, ids))
    with pytest.raises(ExportError, match=r"'joined:.*' has a tokenizer for each side"):
        zoo.export("hf-hub:me/joined", tmp_path / "exported")


@pytest.mark.parametrize(
    ("name", "told", "command"),
    [
        ("caption-rnn-tiny", "image-to-text", "generate"),
        ("joined:vit-micro+rnn-tiny", "image-to-text", "generate"),
        ("decoder-tiny", "text-generation", "generate"),
        ("graph-tiny", "graph-ml", "predict"),
    ],
)
def test_the_card_says_what_a_model_is_for_and_how_it_is_asked(
    name: str, told: str, command: str, tmp_path: Path, hub: Any
) -> None:
    zoo.weights.save(zoo.create(name), tmp_path)
    (tmp_path / "training.json").write_text('{"data": "mine", "test": {"accuracy": 0.5}}')
    zoo.weights.push(tmp_path, "me/mine", licence="mit")
    sent = hub.repositories["me/mine"]["main"]["README.md"].decode()
    head = json.loads(sent.split("---\n")[1])
    assert head["pipeline_tag"] == head["model-index"][0]["results"][0]["task"]["type"] == told
    assert f"zoo {command} hf-hub:me/mine INPUT" in sent


def test_a_model_is_pushed_to_a_branch_and_what_is_there_is_replaced(hub: Any) -> None:
    inputs, models = zoo.example("vit-micro"), [zoo.create("vit-micro", **SIZE).eval() for _ in range(3)]
    for model in models[:2]:
        with pytest.warns(UserWarning, match="without tokenizer, labels and preparation, as it came from no folder"):
            zoo.weights.push(model, "hf-hub:me/made", licence="mit")
    with pytest.warns(UserWarning, match="came from no folder"):
        zoo.weights.push_to_hub(models[2], "me/made", licence="mit", revision="other")
    found = [zoo.create(name).eval()(*inputs) for name in ("hf-hub:me/made", "hf-hub:me/made@other")]
    assert torch.equal(found[0], models[1](*inputs))
    assert torch.equal(found[1], models[2](*inputs))


def test_a_model_that_came_from_a_folder_is_pushed_with_what_lies_there(run_folder: Path, hub: Any) -> None:
    model = zoo.create(f"local-dir:{run_folder}")
    zoo.weights.save(model, run_folder, {"mean": [0.1, 0.2, 0.3]})
    zoo.weights.push(model, "me/cats", licence="mit")
    sent = hub.repositories["me/cats"]["main"]
    assert set(sent) == {"README.md", "config.json", "model.safetensors", "labels.json"}
    assert json.loads(sent["config.json"])["pretrained_cfg"]["mean"] == [0.1, 0.2, 0.3]
    again = zoo.create("hf-hub:me/cats", num_classes=3)
    zoo.weights.push(again, "me/more", licence="mit")
    assert "labels.json" not in hub.repositories["me/more"]["main"]  # names of two labels, not of three
    (run_folder / "config.json").unlink()
    run_folder.rename(run_folder.with_name("moved"))
    with pytest.warns(UserWarning, match="run' is gone: to send them, push their folder"):
        zoo.weights.push(model, "me/cats", licence="mit")


def test_a_card_of_ones_own_is_sent_as_it_is(run_folder: Path, hub: Any) -> None:
    (run_folder / "README.md").write_text("---\nlicense: mit\n---\nMine.\n")
    zoo.weights.push(run_folder, "me/cats")
    assert hub.repositories["me/cats"]["main"]["README.md"] == b"---\nlicense: mit\n---\nMine.\n"


def test_what_cannot_be_pushed_is_told(
    run_folder: Path, hub: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="repository 'cats': write org/name"):
        zoo.weights.push(run_folder, "cats", licence="mit")
    with pytest.raises(ConfigError, match="without a licence"):
        zoo.weights.push(run_folder, "me/cats")
    with pytest.raises(WeightsError, match=r"holds no config\.json and model\.safetensors"):
        zoo.weights.push(tmp_path, "me/cats", licence="mit")
    with pytest.warns(UserWarning, match="no folder"), pytest.raises(WeightsError, match="has no spec"):
        zoo.weights.push(torch.nn.Linear(1, 1), "me/cats", licence="mit")
    assert hub.repositories == {}
    monkeypatch.setenv("HF_TOKEN", "hf_bad")
    with pytest.raises(WeightsError, match="log in with `hf auth login`"):
        zoo.weights.push(run_folder, "me/cats", licence="mit")


def test_a_repository_that_is_not_there_is_told(hub: Any) -> None:
    with pytest.raises(WeightsError, match="'hf-hub:no/such'"):
        zoo.create("hf-hub:no/such")


def test_the_command_pushes(run_folder: Path, hub: Any, run: Callable[..., tuple[int, str, str]]) -> None:
    code, out, told = run("push", str(run_folder), "me/cats", "--licence", "mit", "--limits", "Not for dogs.")
    assert code == 0, told
    assert out.strip().endswith("/me/cats")
    assert 'zoo.create("hf-hub:me/cats")' in told
    assert b"Not for dogs." in hub.repositories["me/cats"]["main"]["README.md"]


@pytest.mark.slow
def test_another_process_loads_what_was_pushed(run_folder: Path, hub: Any, tmp_path: Path) -> None:
    zoo.weights.push(run_folder, "me/cats", licence="mit")
    code = "import zoo; print(zoo.create('hf-hub:me/cats').num_classes)"
    environment = os.environ | {"HF_HUB_CACHE": str(tmp_path / "elsewhere")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout.split() == ["2"], done.stderr


@pytest.mark.slow
def test_torch_hub_makes_models_by_name() -> None:
    root = str(Path(__file__).parents[3])
    for name, given in (("create", ("vit-micro",)), ("vit_micro", ())):
        model: Any = torch.hub.load(root, name, *given, source="local", num_classes=3)
        assert (model.spec.name, model.num_classes) == ("vit-micro", 3)
    assert callable(torch.hub.load(root, "preprocess", "vit-micro", source="local"))
    with pytest.raises(RuntimeError, match="Cannot find callable vit_mikro"):
        torch.hub.load(root, "vit_mikro", source="local")


PAGE = (Path(__file__).parents[3] / "docs" / "ten-commands.md").read_text(encoding="utf-8")
KINDS = re.findall(r"^## (\w+)\n.*?^```\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def shortened(command: str) -> list[str]:
    """Give the words of a command of the page, with few steps, one validation and few draws of an interval."""
    words = shlex.split(re.sub(r"--steps \d+", "--steps 4 --validations 1", command.removeprefix("uv run zoo ")))
    return [*words, "--samples", "20"] if words[0] == "evaluate" else words


def asked(serve: str, curl: str) -> Any:
    """Serve a run at a free port, ask it as the page does, and give its answers."""
    command = [sys.executable, "-m", "zoo", *shlex.split(serve.removeprefix("uv run zoo "))[:-1], "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        url = process.stderr.readline().split()[4]
        words = shlex.split(curl.replace("http://127.0.0.1:8000", url))
        told = subprocess.run([*words, "--silent", "--noproxy", "*"], capture_output=True, text=True, check=True).stdout
        process.terminate()
        assert process.wait(30) == 0
    return json.loads(told)["answers"]


def numbers(answer: str) -> list[float]:
    """Give the numbers that `zoo predict` tells of its first input, in the order of its labels."""
    _, _, told = answer.splitlines()[0].partition("\t")
    found = dict(zip(*[iter(told.split())] * 2, strict=True))
    return [float(found[label]) for label in sorted(found)]


def test_the_page_has_ten_commands_for_each_kind_of_data() -> None:
    assert [kind for kind, _ in KINDS] == ["Pictures", "Recordings", "Texts", "Molecules"]
    verbs = ["train", "train", "train", "evaluate", "predict", "predict", "serve", "curl", "push", "predict"]
    for _, commands in KINDS:
        assert [re.sub(r"^uv run zoo ", "", line).split()[0] for line in commands.splitlines()] == verbs


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "commands"), KINDS, ids=[kind for kind, _ in KINDS])
def test_the_ten_commands_of_the_page_go_from_own_data_to_a_model_that_is_loaded_elsewhere(
    kind: str, commands: str, hub: Any, run: Callable[..., tuple[int, str, str]], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    if kind == "Recordings":
        if shutil.which("espeak-ng") is None:
            pytest.skip("espeak-ng is not installed")
        from zoo.plugins.speech.data.synthetic import spoken_digits

        monkeypatch.setattr(spoken_digits, "SIZES", {"words": (100, 20, 20)})
    monkeypatch.chdir(tmp_path)
    (script,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    exec(script, {})
    told, served = [], []
    lines = commands.splitlines()
    for line, after in itertools.pairwise([*lines, ""]):
        if line.startswith("uv run zoo serve"):
            served = asked(line, after)
        elif not line.startswith("curl"):
            code, out, error = run(*shortened(line))
            assert code == 0, f"{line}\n{out}\n{error}"
            told.append(out)
    here, elsewhere = told[4], told[-1]
    assert numbers(here) == numbers(elsewhere)
    answer = served[0]["labels"]
    assert [round(answer[label], 3) for label in sorted(answer)] == pytest.approx(numbers(here), abs=2e-3)
    assert len(list(tmp_path.glob("*.npz"))) == len(list(tmp_path.glob("*.html"))) == 1
    (files,) = (branches["main"] for branches in hub.repositories.values())
    sent = files["README.md"].decode()
    assert "zoo train" in sent
    assert re.search(r"^\| (accuracy|R²) \| \S+ \| \S+ to \S+ \|$", sent, re.MULTILINE), sent
