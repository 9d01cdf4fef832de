"""Int8 models in files: saved and made again bit for bit, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import zoo
from zoo.core import Int8Matrix, is_quantized
from zoo.errors import ConfigError, WeightsError

SIZES: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 24}


@pytest.fixture
def model() -> Any:
    return zoo.create("decoder-tiny", **SIZES).eval()


@pytest.mark.parametrize("embeddings", [False, True])
def test_a_saved_model_is_made_again_bit_for_bit(model: Any, embeddings: bool, tmp_path: Path) -> None:
    made = zoo.quantize(model, embeddings=embeddings)
    zoo.weights.save(made, tmp_path)
    read = zoo.create(f"local-dir:{tmp_path}").eval()
    assert read.quantization == {"dtype": "int8", "embeddings": embeddings}
    before, after = made.state_dict(), read.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[key], after[key]) for key in before)
    assert read.spec.parameters == model.spec.parameters
    inputs = zoo.example("decoder-tiny")
    with torch.no_grad():
        assert torch.equal(read(*inputs), made(*inputs))


def test_a_model_of_which_a_part_is_int8_is_not_saved(model: Any, tmp_path: Path) -> None:
    model.decoder = zoo.quantize(model.decoder)
    said = r"'decoder-tiny' has int8 weights in a part of it \(decoder\), .*zoo\.quantize\(model\)"
    with pytest.raises(WeightsError, match=said):
        zoo.weights.save(model, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_file_has_a_byte_for_each_weight(model: Any, tmp_path: Path) -> None:
    zoo.weights.save(zoo.quantize(model), tmp_path)
    state = load_file(tmp_path / "model.safetensors")
    weight = model.state_dict()["decoder.blocks.0.attention.qkv.weight"]
    found = state["decoder.blocks.0.attention.qkv.weight.int8"]
    assert (found.dtype, found.shape) == (torch.int8, weight.shape)
    assert json.loads((tmp_path / "config.json").read_text())["quantization"]["dtype"] == "int8"


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("vit-micro", SIZES),
        ("transformer-tiny", SIZES),
        ("bert-tiny", SIZES),
        ("speech-tiny", SIZES),
        ("conformer-tiny", {}),
        ("graph-tiny", {}),
        ("gat-pubmed", {}),
        ("hybrid-micro", {}),
        ("speech-synthesis-tiny", {}),
    ],
)
def test_a_model_of_each_modality_answers_and_is_saved(name: str, sizes: dict[str, Any], tmp_path: Path) -> None:
    model, inputs = zoo.create(name, **sizes).eval(), zoo.example(name)
    made = zoo.quantize(model)
    zoo.weights.save(made, tmp_path)
    read = zoo.create(f"local-dir:{tmp_path}").eval()
    with torch.no_grad():
        wanted, found, again = (_scores(each(*inputs)) for each in (model, made, read))
    assert torch.equal(found, again)
    assert (found - wanted).norm() < 0.1 * wanted.norm()


def _scores(answer: Any) -> torch.Tensor:
    scores: torch.Tensor = answer if isinstance(answer, torch.Tensor) else answer[0]
    return scores


def test_another_number_of_labels_makes_a_new_classifier(tmp_path: Path) -> None:
    zoo.weights.save(zoo.quantize(zoo.create("vit-micro", num_classes=4, **SIZES)), tmp_path)
    read = zoo.create(f"local-dir:{tmp_path}", num_classes=7)
    assert isinstance(read.head.linear.weight, Int8Matrix)
    assert read.head.linear.weight.shape == (7, 16)


def test_weights_of_a_folder_that_says_so_make_an_int8_model(model: Any, tmp_path: Path) -> None:
    zoo.weights.save(zoo.quantize(model), tmp_path)
    assert is_quantized(zoo.create("decoder-tiny", weights=tmp_path, **SIZES))


@pytest.mark.filterwarnings("ignore:for .*copying from a non-meta parameter")
@pytest.mark.parametrize("device", ["meta", torch.device("meta")])
def test_a_folder_of_int8_weights_is_for_a_cpu(model: Any, device: Any, tmp_path: Path) -> None:
    zoo.weights.save(zoo.quantize(model), tmp_path)
    said = "device=.*meta.*: the weights of 'local-dir:.*' are int8, which is for CPUs: leave device= out"
    with pytest.raises(ConfigError, match=said):
        zoo.create(f"local-dir:{tmp_path}", device=device)
    assert is_quantized(zoo.create(f"local-dir:{tmp_path}", device="cpu"))


def test_int8_weights_without_a_record_are_refused(model: Any, tmp_path: Path) -> None:
    made = zoo.quantize(model)
    zoo.weights.save(made, tmp_path)
    for weights in (tmp_path / "model.safetensors", made.state_dict()):
        with pytest.raises(WeightsError, match=r"holds int8 weights.*zoo\.create\('local-dir:FOLDER'\)"):
            zoo.create("decoder-tiny", weights=weights, **SIZES)


def test_another_quantisation_is_refused(model: Any, tmp_path: Path) -> None:
    zoo.weights.save(zoo.quantize(model), tmp_path)
    file = tmp_path / "config.json"
    file.write_text(file.read_text().replace('"dtype": "int8"', '"dtype": "int3"'))
    with pytest.raises(WeightsError, match=r"quantization={'dtype': 'int3'"):
        zoo.create(f"local-dir:{tmp_path}")


def test_training_on_from_int8_weights_is_refused(model: Any, tmp_path: Path) -> None:
    zoo.weights.save(zoo.quantize(model), tmp_path / "int8")
    with pytest.raises(
        ConfigError, match="has int8 weights, which no gradient moves: train the model that it was made"
    ):
        zoo.train(f"local-dir:{tmp_path / 'int8'}", "reverse", out=tmp_path / "run", steps=1)
