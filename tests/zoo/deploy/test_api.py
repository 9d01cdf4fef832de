import json
import re
import subprocess
import sys
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import zoo
from zoo import ConfigError, ExportError, MissingLibraryError
from zoo.deploy.programs import Program
from zoo.deploy.write import traced
from zoo.plugins.shared.text.tokenizer import Tokenizer

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")

TINY: dict[str, Any] = {"depth": 1, "dim": 32, "num_heads": 2, "mlp_dim": 32}


def ran(folder: Path, *inputs: str) -> list[Any]:
    """Run the script where torch and this library cannot be imported."""
    code = (
        "import runpy, sys; sys.modules['torch'] = sys.modules['zoo'] = None; sys.argv = sys.argv[1:]; "
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    command = [sys.executable, "-c", code, str(folder / "run.py"), *inputs]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    return [json.loads(line)["answer"] for line in done.stdout.splitlines()]


def test_a_folder_answers_without_torch(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = zoo.create("vit-micro", depth=1)
    lines: list[str] = []
    folder = zoo.export(model, tmp_path / "out", tell=lines.append)
    assert model.training
    assert "differs from PyTorch by" in lines[-1]
    (images,) = zoo.example("vit-micro", 5)
    np.savez(tmp_path / "images.npz", pixels=images.numpy())
    (answer,) = ran(folder, str(tmp_path / "images.npz"))
    with torch.no_grad():
        np.testing.assert_allclose(answer["answer"], model.eval()(images).numpy(), rtol=1e-4, atol=1e-4)
    np.savez(tmp_path / "wrong.npz", pixels=images.numpy()[:, :2])
    given = [str(tmp_path / name) for name in ("wrong.npz", "images.npz")]
    done = subprocess.run([sys.executable, folder / "run.py", *given], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("the program model cannot compute pixels (5, 2, ")
    assert [json.loads(line)["input"] for line in done.stdout.splitlines()] == given[1:]


def test_a_model_that_is_exported_stays_where_and_as_it_is(device: torch.device, tmp_path: Path) -> None:
    model: Any = zoo.create("vit-micro", depth=1, device=device).train()
    model.encoder.eval()  # frozen
    before = [part.training for part in model.modules()]
    zoo.export(model, tmp_path / "out", "pt2", check=False)
    assert [part.training for part in model.modules()] == before
    assert {x.device.type for x in model.parameters()} == {device.type}


@pytest.mark.slow
def test_text_to_speech_writes_sounds_without_torch(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model: Any = zoo.create("speech-synthesis-tiny", max_steps=6, **TINY).eval()
    folder = zoo.export(model, tmp_path / "out")
    answers = ran(folder, "ab", "a longer text")
    for number, (text, answer) in enumerate(zip(("ab", "a longer text"), answers, strict=True), 1):
        spoken = model.generate(*zoo.preprocess(model)(text))
        (expected,) = zoo.postprocess(model)(spoken)
        assert answer == {"file": f"spoken-{number}.wav", "seconds": round(len(expected) / 16_000, 3)}
        with wave.open(str(folder / answer["file"]), "rb") as file:
            found = np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32767
        assert np.abs(found - expected.numpy()).max() < 0.02 * np.abs(found).max() + 1 / 32767
        assert np.abs(found).max() > 0.01


def test_a_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("all of it")
    with pytest.raises(ConfigError, match="is not empty: name a new folder, or say --overwrite"):
        zoo.export("vit-micro", tmp_path)
    with pytest.raises(ConfigError, match="is a file"):
        zoo.export("vit-micro", tmp_path / "thesis.txt")


def test_an_export_over_another_leaves_nothing_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "thesis.txt").write_text("all of it")
    (folder / "tokenizer.json").write_text("{}")
    programs = {"decode": {"file": "decode.onnx"}, "other": {"file": "../kept.onnx"}}
    (folder / "export.json").write_text(json.dumps({"programs": programs}))
    for path in (folder / "decode.onnx", folder / "decode.onnx.data", tmp_path / "kept.onnx"):
        path.touch()
    zoo.export(zoo.create("vit-micro", depth=1), folder, "pt2", check=False, overwrite=True)
    assert {path.name for path in folder.iterdir()} == {"model.pt2", "export.json", "run.py", "thesis.txt"}
    assert (tmp_path / "kept.onnx").exists()


def test_formats_and_libraries_that_are_not_there_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="to='tflite' is not one of onnx, pt2"):
        zoo.export("vit-micro", tmp_path, to="tflite")
    with pytest.raises(ConfigError, match="int8 with to='pt2'"):
        zoo.export("vit-micro", tmp_path, to="pt2", int8=True)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *rest: None)
    with pytest.raises(MissingLibraryError, match=r'pip install "attention-zoo\[export\]"'):
        zoo.export("vit-micro", tmp_path)


def test_without_onnxruntime_it_is_named_and_only_the_check_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    model, said = zoo.create("vit-micro", depth=1), r'needs onnxruntime: pip install "attention-zoo\[export\]"$'
    needing: list[dict[str, Any]] = [{}, {"int8": True, "check": False}]
    for options in needing:
        with pytest.raises(MissingLibraryError, match=said):
            zoo.export(model, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
    assert (zoo.export(model, tmp_path / "out", check=False) / "model.onnx").exists()


@pytest.mark.slow
def test_a_process_without_onnxruntime_is_told_how_to_install_it(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['onnxruntime'] = None\nimport zoo\n"
        "try: zoo.export(zoo.create('vit-micro', depth=1), sys.argv[1])\n"
        "except zoo.MissingLibraryError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "out")], capture_output=True, text=True, check=True
    )
    assert 'needs onnxruntime: pip install "attention-zoo[export]"' in done.stdout


def test_int8_weights_are_not_exported_as_floats(tmp_path: Path) -> None:
    model = zoo.quantize(zoo.create("vit-micro", depth=1).eval())
    with pytest.raises(ConfigError, match="'vit-micro' has int8 weights: export the model in float32, with --int8"):
        zoo.export(model, tmp_path / "out")
    with pytest.raises(ConfigError, match=r"'vit-micro' has weights of torch.bfloat16: give model.float\(\)"):
        zoo.export(zoo.create("vit-micro", depth=1, dtype="bfloat16"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_without_a_tokenizer_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, lines = tmp_path / "run", list[str]()
    zoo.weights.save(zoo.create("decoder-tiny", **TINY | {"vocab_size": 300}), run)
    monkeypatch.setattr("zoo.plugins.text.io.preprocess.fetch_tokenizer", lambda reference: None)
    with pytest.raises(ExportError, match=r"run' is not exported without its preprocessing, .*has no tokenizer\.json"):
        zoo.export(str(run), tmp_path / "out", tell=lines.append)
    assert not lines
    assert not (tmp_path / "out").exists()


def test_a_model_with_drawn_weights_says_that_it_goes_without_a_tokenizer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zoo.plugins.text.io.preprocess.fetch_tokenizer", lambda reference: None)
    lines: list[str] = []
    folder = zoo.export(zoo.create("bert-tiny", depth=1), tmp_path / "out", "pt2", check=False, tell=lines.append)
    assert "run.py reads arrays (.npz) only" in lines[0]
    assert json.loads((folder / "export.json").read_text())["input"] == {"kind": "tensors"}


def test_labels_of_a_training_go_with_the_model(tmp_path: Path) -> None:
    run = tmp_path / "run"
    zoo.weights.save(zoo.create("vit-micro", depth=1, num_classes=2), run)
    (run / "labels.json").write_text('["cat", "dog"]')
    folder = zoo.export(run, tmp_path / "out", "pt2", check=False)
    assert json.loads((folder / "export.json").read_text())["labels"] == ["cat", "dog"]


def test_a_failed_export_leaves_a_folder_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "model.onnx").write_text("the last one")
    monkeypatch.setattr("zoo.deploy.check.difference", lambda found, expected: 1.0)
    with pytest.raises(ExportError, match="differs from PyTorch"):
        zoo.export(zoo.create("vit-micro", depth=1), tmp_path / "out", overwrite=True)
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "model.onnx"]
    assert (tmp_path / "out" / "model.onnx").read_text() == "the last one"


def test_a_part_that_a_program_cannot_compute_is_refused_by_name(tmp_path: Path) -> None:
    model = zoo.create("graph-tiny", depth=1, position="laplacian")
    with pytest.raises(ExportError, match="model: position='laplacian' needs eigenvectors"):
        zoo.export(model, tmp_path / "out", "pt2")
    assert not list(tmp_path.iterdir())


@pytest.fixture
def tokenizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give models with published weights a tokenizer without a network."""
    path = tmp_path / "tokenizer.json"
    Tokenizer.byte_level().save(path)
    monkeypatch.setattr("zoo.plugins.text.io.preprocess.fetch_tokenizer", lambda reference: path)


JOINED: dict[str, Any] = {"depth": 1, "bridge": "pool:2", **{f"decoder.{key}": value for key, value in TINY.items()}}
STREAMING: dict[str, Any] = {"window": [640, 0], "convolution": "causal", "normalise": "running"}


EXPORTED: list[tuple[str, dict[str, Any]]] = [
    ("bert-tiny", {"depth": 1}),
    ("bert-micro", {}),
    ("decoder-tiny", TINY),
    ("gpt2-small", TINY),
    ("transformer-tiny", TINY),
    ("transformer-learned-positions", TINY),
    ("conformer-tiny", {"depth": 1}),
    ("conformer-tiny", {"depth": 1, "kernel_size": 7, "task": "generate", **STREAMING}),
    ("conformer-tiny", {"depth": 1, "task": "generate", "by": "joint"}),
    ("speech-tiny", {"depth": 1}),
    ("speech-micro", {}),
    ("speech-translator-tiny", {"depth": 1}),
    ("graph-tiny", {"depth": 1, "virtual_nodes": 1}),
    ("gat-cora", {}),
    ("gat-ppi", {}),
    ("gatv2-cora", {}),
    ("gps-small", {"depth": 1}),
    ("graph-transformer-conv", {}),
    ("gcn-micro", {"depth": 1}),
    ("dscnn-micro", {"depth": 1}),
    ("textcnn-micro", {}),
    ("gatedcnn-micro", {}),
    ("text-hybrid-micro", {}),
    ("dilated-cnn-micro", {}),
    ("vit-micro", {"depth": 1}),
    ("vit-small-p32", {"depth": 1}),
    ("resnet-micro", {}),
    ("resnet-18", {}),
    ("bit-r50x1", {}),
    ("hybrid-micro", {}),
    ("conformer-vision-micro", {}),
    ("conv-attention-micro", {}),
    ("marian-base", TINY),
    ("weighted-transformer-base", TINY),
    ("speech-synthesis-tiny", {"depth": 1}),
    ("wav2vec2-base", {"depth": 1}),
    ("wav2vec2-large-lv60", {"depth": 1}),
    ("lstm-micro", {}),
    ("gru-micro", {}),
    ("gru-lm-micro", {"dim": 16}),
    ("lstm-lm-micro", {"dim": 16}),
    ("rnn-tiny", {"dim": 16}),
    ("rnn-attention-tiny", {"dim": 16}),
    ("rnn-attention-tiny", {"dim": 16, "bidirectional": True, "local": "p:3"}),
    ("rnn-attention-tiny", {"dim": 16, "score": "general", "feeding": True, "copy": True}),
    ("caption-tiny", {"depth": 1}),
    ("caption-rnn-tiny", {"dim": 16}),
    ("caption-rnn-tiny", {"dim": 16, "choice": "hard"}),
    ("nat-base", {**TINY, "vocab_size": 300}),
    ("joined:speech-micro+transformer-tiny", {}),
    ("joined:graph-tiny+transformer-tiny", JOINED),
    ("joined:gcn-micro+rnn-tiny", {"depth": 1, "decoder.dim": 16}),
    ("joined:gat-cora+bert-micro", {}),
    ("joined:gps-micro+decoder-tiny", {"depth": 1, **{f"decoder.{key}": value for key, value in TINY.items()}}),
    ("joined:graph-transformer-conv+bert-micro", {}),
]
"""Names, and options that make them small, or another model of the same class."""


def family(name: str) -> tuple[Any, ...]:
    """Give what names have in common that differ in sizes only: class, task, and options that are words or switches."""
    spec = zoo.info(name)
    words = {key: value for key, value in spec.config.items() if isinstance(value, str | bool)}
    return spec.entry, spec.task, tuple(sorted((key, re.sub(r"\d+", "", str(value))) for key, value in words.items()))


def test_every_name_has_one_of_its_family_among_those_that_are_exported() -> None:
    sizes = [name for name, options in EXPORTED if not any(isinstance(x, str | bool | list) for x in options.values())]
    tested = {family(name) for name in sizes if not name.startswith("joined:")}
    missing = [name for name in zoo.list_models() if family(name) not in tested]
    assert not missing, f"nothing exports a model like {', '.join(missing)}: add one to EXPORTED"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), EXPORTED)
@pytest.mark.usefixtures("tokenizer")
def test_every_family_gives_the_answers_of_pytorch(
    name: str, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In both formats, of programs that are traced once."""
    known: dict[str, Any] = {}

    def once(program: Program) -> Any:
        if program.name not in known:
            known[program.name] = traced(program)
        return known[program.name]

    monkeypatch.setattr("zoo.deploy.api.traced", once)
    torch.manual_seed(0)
    model = zoo.create(name, **options)
    for to in ("pt2", "onnx"):
        folder = zoo.export(model, tmp_path / to, to)
        assert json.loads((folder / "export.json").read_text())["model"] == name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"), [("decoder-tiny", TINY), ("lstm-lm-micro", {"dim": 16}), ("gru-lm-micro", {"dim": 16})]
)
def test_a_language_model_writes_what_it_writes_here(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = zoo.create(name, **options).eval()
    folder = zoo.export(model, tmp_path / "out")
    ids, valid = zoo.preprocess(model)("once upon")
    np.savez(tmp_path / "ids.npz", ids=ids.numpy())
    found, of_ids = ran(folder, "once upon", str(tmp_path / "ids.npz"))
    written = model.generate(ids, valid, max_len=64).read(model.symbols)
    assert found == of_ids == zoo.postprocess(model)([written[0].tolist()])[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("transformer-tiny", TINY),
        ("rnn-tiny", {"dim": 16}),
        ("rnn-attention-tiny", {"dim": 16}),
        ("nat-base", {**TINY, "vocab_size": 260}),
    ],
)
@pytest.mark.usefixtures("tokenizer")
def test_a_translator_writes_what_it_writes_here(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = zoo.create(name, **options).eval()
    folder = zoo.export(model, tmp_path / "out")
    source = zoo.preprocess(model)("once upon a time")
    written = model.generate(*source, max_len=64).read(model.symbols)
    assert ran(folder, "once upon a time") == zoo.postprocess(model)([written[0].tolist()])


@pytest.mark.slow
def test_a_model_of_graphs_describes_what_it_describes_here(tmp_path: Path) -> None:
    torch.manual_seed(0)
    options = {**JOINED, "bridge": "linear", "node_features": [4], "edge_features": 0}
    model: Any = zoo.create("joined:graph-tiny+transformer-tiny", **options).eval()
    with torch.no_grad():
        model.decoder.blocks[0].cross.qkv.weight.mul_(3)  # so that the graph changes the text, whatever the seed
        model.decoder.blocks[0].cross.out.weight.mul_(3)
    folder = zoo.export(model, tmp_path / "out")
    lines = [
        json.dumps({"x": [0, 1, 2, 3], "edges": [[0, 1], [1, 2], [2, 3], [3, 0]]}),
        json.dumps({"x": [3, 2], "edges": []}),
    ]
    written = model.generate(*zoo.preprocess(model)(lines), max_len=64).read(model.symbols)
    expected = zoo.postprocess(model)([ids.tolist() for ids in written])
    assert ran(folder, *lines) == expected
    assert expected[0] != expected[1]
