"""What the README and the pages of docs/ show runs as it stands there."""

import json
import os
import re
import shlex
import subprocess
import sys
from ast import literal_eval
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
from typer.core import TyperCommand
from typer.main import get_command

from zoo.cli.app import build
from zoo.registry import Registry, using

ROOT = Path(__file__).parents[1]
COMMAND = r"^(?:\$ |uv run )?zoo (.*?)(?:  +.*| [|#>&;] .*)?$"
NOTEBOOKS = [f"docs/{name}.md" for name in ("attention", "first-plugin", "first-steps", "own-study")]
PAGES = ["README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]


def blocks(page: str, language: str = "python") -> list[str]:
    """Give what a page shows in a language."""
    text = (ROOT / page).read_text(encoding="utf-8")
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [code for name, code in fences if name == language]


BLOCKS = blocks("README.md")
FILES = {match[1]: block for block in BLOCKS if (match := re.match(r"# ((?:test_)?zoo_points\w*\.py)", block))}


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)


@pytest.mark.slow
def test_the_plugin_of_the_readme_passes_the_conformance_kit(tmp_path: Path) -> None:
    assert list(FILES) == ["zoo_points.py", "zoo_points_net.py", "test_zoo_points.py"]
    for name, code in FILES.items():
        (tmp_path / name).write_text(code)
    # A user's pytest: no configuration, so an unregistered mark would warn, and here fail.
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error::pytest.PytestWarning", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_export" not in done.stdout
    assert re.search(r"\d+ passed", done.stdout), done.stdout


def test_the_plugin_of_the_readme_has_fifteen_lines() -> None:
    lines = [line for name in list(FILES)[:2] for line in FILES[name].splitlines()]
    assert len([line for line in lines if line and not line.startswith("#")]) <= 15


POINTS = """
import json, sys, torch, zoo, zoo_points_table
from zoo.data import open_corpus
from zoo.registry.lookup import Registry, using
spec = zoo.ModelSpec(name="net", entry="a:b", example="a:b", modality="points")
with using(Registry(plugins=[zoo_points_table])):
    for name in sys.argv[1:]:
        corpus = open_corpus(name, spec)
        batch = corpus.batch(torch.arange(4), torch.Generator())
        (points,), target = batch
        print(corpus.sizes["train"], corpus.labels, *points.shape, *(points[:, 0] < 0).long() - target)
"""


def test_the_plugin_of_the_page_on_data_reads_tables(tmp_path: Path, parquet: Callable[..., Path]) -> None:
    (tmp_path / "zoo_points_table.py").write_text(blocks("docs/data.md")[0])
    points, labels = (
        [[place - 19.5, 1.0] for place in range(40)],
        [(place < 20 and "left") or "a" for place in range(40)],
    )
    parquet("a.parquet", point=points, label=labels)
    parquet("hub/a.parquet", point=points, label=labels)
    rows = ({"point": point, "label": label} for point, label in zip(points, labels, strict=True))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run("-c", POINTS, "parquet:a.parquet", "hf:hub", "jsonl:a.jsonl", "a.parquet", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    (line,) = set(done.stdout.splitlines())
    assert re.fullmatch(r"3\d \['a', 'left'\] 4 2( tensor\(0\)){4}", line)


@pytest.mark.parametrize("page", PAGES)
def test_every_function_that_is_shown_is_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for name in set(re.findall(r"\bzoo\.([a-z_.A-Z]+)\(", text)):
        assert resolve_name(f"zoo.{name}")


@pytest.mark.slow
def test_the_first_example_prints_what_the_readme_says(tmp_path: Path) -> None:
    done = run("-c", BLOCKS[0], folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == re.findall(r"^# (.*)$", BLOCKS[0], re.MULTILINE)


# What comes before the Python of a page: data, and what makes it small and keeps it off the network. It leaves no name
# of a library behind, so that a page that forgets an import fails.
TENSORS = """
from torch import randn, tensor
q, k, v = (randn(2, 300, 4, 16) for _ in range(3))
lengths, steps = tensor([300, 200]), randn(3, 2, 1, 64)
"""
SHORT = """
import zoo as _zoo
_create, _preprocess, _train = _zoo.create, _zoo.preprocess, _zoo.train
_zoo.train = lambda *given, **options: _train(*given, **options | {"steps": 2})
"""
OFFLINE = """
from functools import partial
from PIL import Image
Image.linear_gradient("L").save("cat.jpg")
def _fresh(name, pretrained=False, weights=None, **options):
    assert _zoo.info(name).weights or not pretrained
    return _create(name, **options)
_zoo.create = _fresh
_zoo.preprocess = lambda name: _preprocess("decoder-tiny" if name == "gpt2-small.openai" else name)  # reads bytes
_zoo.bench.data_size = partial(_zoo.bench.data_size, sizes=[20, 40], steps=2, workers=0)
"""
BERT = """
from transformers import BertConfig as _Config, BertForSequenceClassification as _Bert
from zoo.plugins.shared.text.tokenizer import Tokenizer as _Tokenizer
_config = _Config(vocab_size=260, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=32,
                  max_position_embeddings=16)
_Bert(_config).save_pretrained("their-folder")
_Tokenizer.byte_level().save("their-folder/tokenizer.json")
_small = {"vocab_size": 260, "dim": 24, "depth": 2, "num_heads": 3, "mlp_dim": 32, "max_len": 16}
_zoo.create = lambda name, **options: _create(name, **(_small if name == "bert-base" else {}), **options)
"""
SPEECH = """
import numpy, soundfile, zoo as _zoo
from zoo.plugins.shared.text.tokenizer import Tokenizer
for _name in ("seven.wav", "a.wav", "b.flac"):
    soundfile.write(_name, 0.1 * numpy.random.default_rng(0).standard_normal(8_000), 16_000)
_create, _letters = _zoo.create, {"labels": [*"-|ETAONIHSRDLUMWCFGYPBVK'XJQZ"], "depth": 1, "pretrained": False}
_zoo.create = lambda name, **given: _create(name, **(given | (_letters if name == "wav2vec2-base.960h" else {})))
digits = _zoo.create("speech-tiny", task="generate", by="ctc", depth=1)
voice = _zoo.create("speech-synthesis-tiny", depth=1, max_steps=5)
for model, folder in ((digits, "runs/digits"), (voice, "runs/voice")):
    Tokenizer.byte_level().save(_zoo.weights.save(model, folder) / "tokenizer.json")
del numpy, soundfile
"""
INT8 = """
import zoo as _zoo
_create = _zoo.create
_small = {"vocab_size": 260, "dim": 24, "depth": 2, "num_heads": 3, "mlp_dim": 32, "max_len": 16}
_zoo.create = lambda name, **given: _create(name, **(_small if name == "gpt2-small" else {}))
"""
JOIN = """
import sys, types
sys.modules["my_plugin"] = types.ModuleType("my_plugin")
"""
SHARED = """
import zoo as _zoo
_zoo.weights.save(_zoo.create("vit-micro", num_classes=2, depth=1), "runs/pictures")
"""
TORCH_HUB = f"""
import torch as _torch, zoo as _zoo
_load = _torch.hub.load
_torch.hub.load = lambda repository, *given, **options: _load({str(ROOT)!r}, *given, source="local", **options)
_zoo.info("vit-small").config["depth"] = 1
"""
PRELUDES = {
    "README.md": TENSORS + SHORT + OFFLINE,
    "docs/laws.md": "",
    "docs/model-names.md": SHORT + OFFLINE,
    "docs/planner.md": "",
    "docs/train.md": SHORT + OFFLINE,
    "docs/engine.md": TENSORS,
    "docs/evaluate.md": "",
    "docs/family.md": "",
    "docs/export.md": "",
    "docs/from-timm.md": "",
    "docs/gallery.md": "",
    "docs/generation.md": "",
    "docs/join.md": JOIN,
    "docs/graph.md": "",
    "docs/int8.md": INT8,
    "docs/own-data.md": "",
    "docs/serve.md": SHARED,
    "docs/sharing.md": SHARED + TORCH_HUB,
    "docs/speech.md": SPEECH,
    "docs/text.md": SHORT + BERT,
    "docs/training-loops.md": "import warnings\nwarnings.simplefilter('ignore')\n",
}
APART = ("docs/sharing.md", "docs/speech.md", "docs/training-loops.md")
"""Pages that tests of their own run."""


def shown(page: str, folder: Path, after: str = "") -> list[str]:
    """Run the Python of a page from top to bottom; give the lines that it prints."""
    code = [each for each in blocks(page) if each not in FILES.values()]
    done = run("-c", "\n".join([PRELUDES[page], *code, after]), folder=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_no_page_with_python_is_left_out() -> None:
    assert {page for page in PAGES if blocks(page)} == {
        *PRELUDES,
        "docs/data.md",
        "docs/data-size.md",
        "docs/new-modality.md",  # tests/test_plugin_pages.py
        "docs/ten-commands.md",  # tests/zoo/weights/test_sharing.py
        *NOTEBOOKS,  # tests/test_notebooks.py
    }
    text = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)
    languages = set(re.findall(r"^```(.+)$", text, re.MULTILINE))
    assert languages == {"python", "mermaid", "toml"}  # commands stand in blocks without a language


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PRELUDES if page not in APART])
def test_the_python_of_a_page_runs(page: str, tmp_path: Path) -> None:
    shown(page, tmp_path)


@pytest.mark.slow
def test_the_loops_of_pytorch_lightning_and_hugging_face_learn(tmp_path: Path) -> None:
    pytest.importorskip("lightning")
    lines = shown("docs/training-loops.md", tmp_path)
    found = re.findall(r"^(PyTorch|Lightning|Hugging Face) (0\.\d+)$", "\n".join(lines), re.MULTILINE)
    assert [name for name, _ in found] == ["PyTorch", "Lightning", "Hugging Face"], lines
    assert all(float(accuracy) > 0.5 for _, accuracy in found)
    assert "from step 0" in lines
    assert any(line.startswith("ended by") for line in lines)


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_have_the_options_that_it_shows(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(TyperCommand, "invoke", lambda self, context: read.append(context.command_path))
    lines = re.sub(r"\\\n *", "", "\n".join(blocks(page, "")))
    lines = "" if page == "docs/new-modality.md" else lines  # tests/test_plugin_pages.py runs them, with their plugin
    commands = re.findall(COMMAND, lines, re.MULTILINE)
    commands += re.findall(r"`zoo ([^`…]* --[\w-]+ [^`…]+)`", (ROOT / page).read_text(encoding="utf-8"))
    for words in commands:
        get_command(build())(shlex.split(words), standalone_mode=False)
    assert len(read) == len(commands)


@pytest.mark.slow
def test_a_study_of_ones_own_runs_as_its_page_shows(tmp_path: Path) -> None:
    *_, work, study, cluster = blocks("docs/data-size.md")
    (tmp_path / "my_study.py").write_text(work)
    done = run("-c", study, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    results = re.findall(r"^((?:vit|resnet)-micro) ([01]) 0\.\d+$", done.stdout, re.MULTILINE)
    assert results == [(model, seed) for model in ("vit-micro", "resnet-micro") for seed in "01"], done.stdout
    pool = "import concurrent.futures, types\ndistributed = submitit = types.SimpleNamespace()\n"
    pool += "distributed.Client = lambda address: types.SimpleNamespace(get_executor=concurrent.futures.Executor)\n"
    pool += "submitit.AutoExecutor = lambda folder: concurrent.futures.Executor()\n"
    again = run("-c", pool + study + cluster, folder=tmp_path)  # nothing is left that an executor would run
    assert again.returncode == 0, again.stderr
    assert "4 of 4 runs are done already." in again.stdout


@pytest.mark.slow
def test_models_are_shared_as_their_page_shows(hub: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from timm import create_model
    from timm.models import save_for_hf

    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    published = create_model("vit_small_patch16_224.augreg_in21k_ft_in1k", depth=1)
    save_for_hf(published, str(tmp_path / "vit"), safe_serialization=True)
    files = {path.name: path.read_bytes() for path in (tmp_path / "vit").iterdir()}
    hub.repositories["timm/vit_small_patch16_224.augreg_in21k_ft_in1k"] = {"main": files}
    after = "print(again.num_classes, len(again.encoder.blocks), model.num_classes)"
    assert shown("docs/sharing.md", tmp_path, after) == ["2 1 2"]
    assert {*hub.repositories["org/copy"]} == {"main", "trial"}


def test_the_hooks_that_the_page_on_data_size_shows_are_those_of_a_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, comparisons, work, plugin, *_ = blocks("docs/data-size.md")
    monkeypatch.syspath_prepend(tmp_path)
    own = []
    for code in (comparisons.replace("from", "# compared.py\nfrom", 1), work, plugin):
        name = code.split()[1]
        (tmp_path / name).write_text(code)
        own.append(name.removesuffix(".py"))
        monkeypatch.setitem(sys.modules, own[-1], None)  # so that it is taken out after the test
        del sys.modules[own[-1]]
    plugins = ["zoo.registry.builtin", "compared", "window_plugin"]
    with using(Registry(plugins=plugins, autoload=False)) as registry:
        (found,) = [each for each in registry.comparisons if each.name == "timeseries"]
        assert found.models == ("series-cnn", "series-tiny")
        options = ["bench", "window-error", "--widths", "4,64", "--seeds", "1", "--workers", "0"]
        get_command(build())([*options, "--out", str(tmp_path / "out")], standalone_mode=False)
    rows = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    narrow, wide = (row["difference"] for row in rows)
    assert 0 < wide < narrow < 1


@pytest.mark.slow
def test_sounds_are_heard_and_made_as_their_page_shows(tmp_path: Path) -> None:
    skipped, tokens, written, stream, spoken = shown("docs/speech.md", tmp_path, "print(len(samples), 'samples')")
    assert "lost.wav" in skipped
    assert tokens.count("(") == len("seven")
    assert len(literal_eval(written)) == len(("a.wav", "b.flac"))
    assert "of real time" in stream
    assert spoken.endswith("samples")
