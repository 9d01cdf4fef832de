"""wav2vec 2.0 that recognises: logits and texts are those of transformers and torchaudio, by the weights alone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from huggingface_hub import constants
from torchaudio.models import wav2vec2_model
from torchaudio.pipelines import WAV2VEC2_ASR_BASE_960H

import zoo
from zoo import WeightsError
from zoo.errors import ConfigError
from zoo.plugins.shared.audio.stems.wave_stem import KERNELS
from zoo.plugins.shared.audio.wav2vec2_config import ENGLISH

SIZES: dict[str, Any] = {"dim": 32, "depth": 2, "num_heads": 4, "mlp_dim": 48, "conv_dim": 8}
LENGTHS = (9_000, 6_000, 400)
Make = Callable[..., Any]


def sounds() -> list[Any]:
    generator = np.random.default_rng(0)
    return [0.1 * generator.standard_normal(length) for length in LENGTHS]


def of_torchaudio(labels: int | None, kind: str = "group") -> Any:
    torch.manual_seed(0)
    layers = kind == "layer"
    convolutions = [(8, *kernel) for kernel in KERNELS]
    net = wav2vec2_model(
        f"{kind}_norm", convolutions, layers, 32, 0.1, 128, 16, 2, 4, 0.1, 48, 0.1, 0.1, layers, 0.1, labels
    )
    with torch.no_grad():
        for x in net.parameters():
            x.add_(0.1 * torch.randn_like(x))
    return net.double().eval()


def written(scores: Any, labels: tuple[str, ...]) -> str:
    """Decode greedily as torchaudio's tutorial does."""
    path = torch.unique_consecutive(scores.argmax(-1)).tolist()
    return "".join(labels[place] for place in path if place).replace("|", " ").strip()


@pytest.mark.parametrize("norm", ["group", "layer"])
def test_a_folder_of_transformers_answers_and_writes_the_same(norm: str, transformers_ctc: Make) -> None:
    theirs = transformers_ctc(norm)
    name = f"local-dir:{theirs.folder}"
    ours: Any = zoo.create(name, dtype="float64").eval()
    x, lengths = zoo.preprocess(name)(sounds())
    raw = [row[:n].numpy() for row, n in zip(x, lengths.tolist(), strict=True)]  # as its preprocessing does, in float32
    found, texts = ours(x.double(), lengths), zoo.postprocess(name)(ours.generate(x.double(), lengths))
    with torch.no_grad():
        if norm == "layer":  # takes a mask, so that padding changes nothing
            inputs = theirs.processor(raw, sampling_rate=16_000, padding=True, return_tensors="pt")
            rows = theirs.model(inputs.input_values.double(), attention_mask=inputs.attention_mask).logits
        else:  # takes none, and padding changes its answers: ours are those to each sound alone
            alone = [theirs.processor(each, sampling_rate=16_000, return_tensors="pt").input_values for each in raw]
            rows = [theirs.model(each.double()).logits[0] for each in alone]
    counts = ours.stem.count(lengths).tolist()
    assert counts == [27, 18, 1]
    for row, wanted, count in zip(found, rows, counts, strict=True):
        assert wanted.abs().max() > 0.1
        torch.testing.assert_close(row[:count], wanted[:count], atol=1e-5, rtol=0)  # theirs norms samples in float32
    ids = [wanted[:count].argmax(-1) for wanted, count in zip(rows, counts, strict=True)]
    assert texts == theirs.processor.batch_decode(ids)
    assert len(set(texts)) == 3


def test_samples_that_nothing_norms_give_the_same_logits_in_float64(transformers_ctc: Make) -> None:
    theirs = transformers_ctc("layer")
    (theirs.folder / "processor_config.json").unlink()
    (theirs.folder / "preprocessor_config.json").write_text(json.dumps({"do_normalize": False}))
    ours: Any = zoo.create(f"local-dir:{theirs.folder}", dtype="float64").eval()
    x = torch.from_numpy(sounds()[0])[None]
    assert ours.spec.config["normalise"] == "none"
    torch.testing.assert_close(ours(x), theirs.model(x).logits, atol=1e-10, rtol=0)


@pytest.mark.parametrize("kind", ["group", "layer"])
def test_weights_of_torchaudio_write_letters(kind: str) -> None:
    theirs = of_torchaudio(29, kind)
    norms: dict[str, Any] = {"conv_norm": "layer", "norm": "pre"} if kind == "layer" else {}
    ours: Any = zoo.create(
        "wav2vec2-base", weights=theirs.state_dict(), task="generate", dtype="float64", **norms, **SIZES
    ).eval()
    labels = WAV2VEC2_ASR_BASE_960H.get_labels()
    assert tuple(ENGLISH) == labels
    x = torch.from_numpy(np.stack([sounds()[0], -sounds()[0]]))
    wanted = theirs(x)[0]
    torch.testing.assert_close(ours(x), wanted, atol=1e-10, rtol=0)
    texts = zoo.postprocess(ours)(ours.generate(x))
    assert texts == [written(row, labels) for row in wanted]
    assert any(texts)
    wrapped = {f"model.{key}": value for key, value in theirs.state_dict().items()}  # as a bundle's get_model gives
    again: Any = zoo.create("wav2vec2-base", weights=wrapped, task="generate", dtype="float64", **norms, **SIZES)
    torch.testing.assert_close(again.eval()(x), wanted, atol=1e-10, rtol=0)


def test_other_labels_are_asked_for_and_taken() -> None:
    weights = of_torchaudio(5).state_dict()
    with pytest.raises(WeightsError, match=r"give labels=\[…\] \(what the 5 outputs of 'aux\.weight' write"):
        zoo.create("wav2vec2-base", weights=weights, task="generate", **SIZES)
    labels = ["a", "b", "|", "-", "c"]
    model: Any = zoo.create("wav2vec2-base", weights=weights, task="generate", labels=labels, blank=3, **SIZES)
    assert model.symbols == (3, -1, -1)
    assert zoo.postprocess(model)([[0, 2, 4], [1]]) == ["a c", "b"]
    for wrong, text in (({"blank": 5}, "blank=5 is none of 5 labels"), ({"by": "attention"}, "only by='ctc' does")):
        with pytest.raises(ConfigError, match=text):
            zoo.create("wav2vec2-base", task="generate", labels=labels, **wrong, **SIZES)


def test_a_saved_model_keeps_its_vocabulary(tmp_path: Path, transformers_ctc: Make) -> None:
    theirs = transformers_ctc()
    models = {
        "torchaudio": zoo.create("wav2vec2-base", weights=of_torchaudio(29).state_dict(), task="generate", **SIZES),
        "transformers": zoo.create(f"local-dir:{theirs.folder}"),
    }
    x = torch.from_numpy(sounds()[0])[None].float()
    for name, model in models.items():
        folder = zoo.weights.save(model, tmp_path / name)
        again: Any = zoo.create(f"local-dir:{folder}").eval()
        assert torch.equal(again(x), model.eval()(x))
        wanted = zoo.postprocess(model)(model.generate(x))
        assert zoo.postprocess(f"local-dir:{folder}")(again.generate(x)) == zoo.postprocess(again)(again.generate(x))
        assert zoo.postprocess(again)(again.generate(x)) == wanted
        assert wanted[0]


def test_a_tag_writes_with_the_vocabulary_of_its_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transformers_ctc: Make
) -> None:
    theirs = transformers_ctc("group")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    folder = tmp_path / "models--facebook--wav2vec2-base-960h"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text("0" * 40)
    (folder / "snapshots").mkdir()
    theirs.folder.rename(folder / "snapshots" / ("0" * 40))
    model: Any = zoo.create("wav2vec2-base.960h", pretrained=True, task="generate").eval()
    x = torch.from_numpy(sounds()[0])[None].float()
    found = model.generate(x)
    assert zoo.postprocess("wav2vec2-base.960h")(found) == zoo.postprocess(model)(found)
    assert zoo.postprocess("hf-hub:facebook/wav2vec2-base-960h")(found) == zoo.postprocess(model)(found)
    assert model.spec.config["labels"][4:6] == ["|", "E"]
    assert zoo.info("hf-hub:facebook/wav2vec2-base-960h").task == "generate"


def test_a_head_is_new_where_the_vocabulary_is_another_or_none_is_there(transformers_ctc: Make) -> None:
    theirs = transformers_ctc()
    made: Any = zoo.create(f"local-dir:{theirs.folder}", vocab_size=12)
    assert made.head.weight.shape == (12, 32)
    assert not made.spec.config["labels"]
    assert made.symbols == (0, 1, 2)
    with pytest.warns(UserWarning, match=r"no weights for head\.weight, head\.bias"):
        zoo.create("wav2vec2-base", weights=of_torchaudio(None).state_dict(), task="generate", vocab_size=12, **SIZES)
    joint: Any
    with pytest.warns(UserWarning, match="no weights for target"):
        joint = zoo.create("wav2vec2-base", weights=str(theirs.folder), task="generate", by="joint")
    assert joint.emitter.num_classes == 260
    torch.testing.assert_close(joint.encoder.norm.weight, made.encoder.norm.weight)


def test_what_is_not_made_here_is_named_all_at_once(transformers_ctc: Make) -> None:
    folder = transformers_ctc().folder
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"add_adapter": True, "hidden_act": "relu"}))
    with pytest.raises(WeightsError, match=r"add_adapter=True \(here False\), hidden_act='relu' \(here 'gelu'\)"):
        zoo.info(f"local-dir:{folder}")
    for key, value in (("conv_dim", [8] * 6 + [16]), ("conv_bias", False)):
        (folder / "config.json").write_text(json.dumps(config | {key: value}))
        with pytest.raises(WeightsError, match=f"config.json has {key}="):
            zoo.info(f"local-dir:{folder}")


@pytest.mark.parametrize("tokenizer", ["", "char"])
def test_a_training_keeps_the_vocabulary_unless_another_is_named(
    tokenizer: str, tmp_path: Path, write: Make, transformers_ctc: Make
) -> None:
    theirs = transformers_ctc("group")
    texts = ["one two", "two", "it's"]
    lines = [{"audio": write(f"{n}.wav", 0.5 + n / 20).name, "text": texts[n % 3]} for n in range(9)]
    (tmp_path / "manifest.jsonl").write_text("\n".join(map(json.dumps, lines)))
    out = tmp_path / "run"
    zoo.train(
        f"local-dir:{theirs.folder}", f"recordings:{tmp_path}/manifest.jsonl", out=out, tokenizer=tokenizer,
        steps=1, validations=1, batch_size=3,
    )  # fmt: skip
    model: Any = zoo.create(f"local-dir:{out}").eval()
    found = zoo.postprocess(f"local-dir:{out}")([[5, 6]])
    if tokenizer:
        assert model.head.num_classes < 32
        assert not model.spec.config["labels"]
        assert found != ["ET"]
    else:
        assert model.spec.config["labels"] == zoo.info(f"local-dir:{theirs.folder}").config["labels"]
        assert found == ["ET"]
    assert model.symbols == ((0, 1, 2) if tokenizer else (0, -1, -1))
