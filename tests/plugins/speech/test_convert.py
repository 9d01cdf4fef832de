"""Weights of wav2vec 2.0 from torchaudio and Hugging Face: the same answers, in both directions."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from huggingface_hub import constants
from torch import Tensor
from torchaudio.models import wav2vec2_model

import zoo
from zoo import ConfigError, WeightsError
from zoo.plugins.shared.audio.stems.wave_stem import KERNELS
from zoo.plugins.speech.convert import to_hf, to_torchaudio, to_zoo
from zoo.plugins.speech.models.wav2vec2 import Wav2Vec2
from zoo.plugins.speech.peers import peer

pytestmark = pytest.mark.usefixtures("float64")

SIZES: dict[str, Any] = {"dim": 32, "depth": 2, "num_heads": 4, "mlp_dim": 48, "conv_dim": 8}
KINDS: dict[str, dict[str, Any]] = {"group": {}, "layer": {"conv_norm": "layer", "norm": "pre"}}
LENGTHS = torch.tensor([2_000, 1_333, 400])


def randomised(model: Any) -> Any:
    """Move every parameter from where it starts, so that a mix-up shows."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for x in model.parameters():
            x.add_(torch.randn(x.shape, generator=generator) * 0.1)
    return model.eval()


def of_torchaudio(kind: str, labels: int | None = None) -> Any:
    layers = kind == "layer"
    convolutions = [(8, *kernel) for kernel in KERNELS]
    return randomised(
        wav2vec2_model(
            f"{kind}_norm", convolutions, layers, 32, 0.1, 128, 16, 2, 4, 0.1, 48, 0.1, 0.1, layers, 0.1, labels
        )
    )


def of_hugging_face(kind: str, net: str = "Wav2Vec2Model", **options: Any) -> Any:
    layers = kind == "layer"
    config = transformers.Wav2Vec2Config(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, conv_dim=[8] * 7,
        feat_extract_norm=kind, conv_bias=layers, do_stable_layer_norm=layers, num_codevectors_per_group=4,
        codevector_dim=8, proj_codevector_dim=8, **options,
    )  # fmt: skip
    return randomised(getattr(transformers, net)(config))


def ours_of(kind: str, state: Any, **options: Any) -> Any:
    model: Any = Wav2Vec2(**SIZES, **KINDS[kind], **options).eval()
    model.load_state_dict(to_zoo(state, model))
    return model


def sounds(b: int = 3) -> Tensor:
    return torch.randn(b, 2_000, generator=torch.Generator().manual_seed(1))


def same(ours: Tensor, theirs: Tensor) -> None:
    assert ours.abs().max() > 0.1
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", [0, 5])
def test_torchaudios_answers_are_the_same_and_its_weights_return(kind: str, labels: int) -> None:
    theirs = of_torchaudio(kind, labels or None)
    ours = ours_of(kind, theirs.state_dict(), num_classes=labels)
    same(ours(sounds()), theirs(sounds())[0])
    back = to_torchaudio(ours)
    assert back.keys() == theirs.state_dict().keys()
    assert all(torch.equal(back[key], value) for key, value in theirs.state_dict().items())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("net", ["Wav2Vec2Model", "Wav2Vec2ForCTC"])
def test_hugging_faces_answers_are_the_same_and_its_weights_return(kind: str, net: str) -> None:
    theirs = of_hugging_face(kind, net, mask_time_prob=0.0, vocab_size=6)
    ours = ours_of(kind, theirs.state_dict(), num_classes=6 if net == "Wav2Vec2ForCTC" else 0)
    same(ours(sounds()), theirs(sounds())[0])
    back = to_hf(ours)
    assert back.keys() == theirs.state_dict().keys()
    assert all(torch.equal(back[key], value) for key, value in theirs.state_dict().items())


def test_padded_sounds_are_answered_as_by_models_that_norm_frames_alone() -> None:
    theirs, hugging = of_torchaudio("layer"), of_hugging_face("layer")
    x = sounds()
    valid = torch.arange(2_000) < LENGTHS[:, None]
    ours = ours_of("layer", theirs.state_dict())
    wanted, count = theirs(x, LENGTHS)
    found = ours(x, LENGTHS)
    assert count.tolist() == ours.stem.count(LENGTHS).tolist() == [6, 3, 1]
    taken = torch.arange(6) < count[:, None]
    same(found[taken], wanted[taken])
    wanted = hugging(x.masked_fill(~valid, 0), attention_mask=valid.long()).last_hidden_state
    same(ours_of("layer", hugging.state_dict())(x, LENGTHS)[taken], wanted[taken])


def test_padding_leaks_into_their_norms_over_time_and_not_into_ours() -> None:
    theirs = of_torchaudio("group")
    ours = ours_of("group", theirs.state_dict())
    x = sounds().masked_fill(torch.arange(2_000) >= LENGTHS[:, None], 0)
    for row, (t, n) in enumerate(zip(LENGTHS.tolist(), [6, 3, 1], strict=True)):
        alone = theirs(x[row : row + 1, :t])[0][0]
        same(ours(x, LENGTHS)[row, :n], alone)
        leak = (theirs(x, LENGTHS)[0][row, :n] - alone).abs().max()
        assert leak > 1e-2 or t == 2_000


def test_what_only_training_needs_and_old_names_of_weight_norm_are_understood() -> None:
    theirs = of_hugging_face("group", "Wav2Vec2ForPreTraining")
    state = {
        key.replace("parametrizations.weight.original0", "weight_g").replace(
            "parametrizations.weight.original1", "weight_v"
        ): value
        for key, value in theirs.state_dict().items()
    }
    assert {"wav2vec2.masked_spec_embed", "quantizer.codevectors", "project_q.weight"} <= state.keys()
    assert "wav2vec2.encoder.pos_conv_embed.conv.weight_g" in state
    same(ours_of("group", state)(sounds()), theirs.wav2vec2(sounds())[0])


def test_labels_of_frames_are_read() -> None:
    theirs = of_hugging_face("group", "Wav2Vec2ForAudioFrameClassification", num_labels=3)
    same(ours_of("group", theirs.state_dict(), num_classes=3)(sounds()), theirs(sounds()).logits)


def test_names_take_weights_of_every_task() -> None:
    theirs = of_hugging_face("group", "Wav2Vec2ForCTC", vocab_size=6)
    same(zoo.create("wav2vec2-base", weights=theirs.state_dict(), **SIZES).eval()(sounds()), theirs(sounds()).logits)
    clips: Any = zoo.create("wav2vec2-base", weights=theirs.state_dict(), task="classify", num_classes=4, **SIZES)
    assert clips.eval()(sounds()).shape == (3, 4)
    same(clips.forward_features(sounds()), theirs.wav2vec2(sounds())[0])
    with pytest.raises(WeightsError, match=r"missing: stem\.convolutions\.0\.bias"):
        zoo.create("wav2vec2-large-lv60", weights=theirs.state_dict(), **SIZES)


def test_pretrained_reads_what_is_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    published = {"wav2vec2-base": "Wav2Vec2ForPreTraining", "wav2vec2-base-960h": "Wav2Vec2ForCTC"}
    for repository, net in published.items():
        theirs = of_hugging_face("group", net, vocab_size=6)
        folder = tmp_path / f"models--facebook--{repository}"
        (folder / "refs").mkdir(parents=True)
        (folder / "refs" / "main").write_text("0" * 40)
        theirs.save_pretrained(folder / "snapshots" / ("0" * 40))
        assert json.loads((folder / "snapshots" / ("0" * 40) / "config.json").read_text())["model_type"] == "wav2vec2"
        name = repository.replace("base-", "base.")
        ours = zoo.create(name, pretrained=True, **SIZES).eval()
        wanted = theirs(sounds()).logits if net == "Wav2Vec2ForCTC" else theirs.wav2vec2(sounds())[0]
        same(ours(sounds()), wanted)
    (folder / "snapshots" / ("0" * 40) / "config.json").write_text('{"model_type": "wav2vec2", "conv_kernel": [1]}')
    with pytest.raises(WeightsError, match=r"what is not made here: conv_kernel=\[1\] \(here \[10, 3,"):
        zoo.create(f"local-dir:{folder}/snapshots/{'0' * 40}")


def test_what_others_have_no_name_for_is_refused() -> None:
    with pytest.raises(ConfigError, match="position='convolution'"):
        to_torchaudio(Wav2Vec2(**SIZES, position="rotary"))
    with pytest.raises(ConfigError, match="task='classify' has no counterpart"):
        to_hf(Wav2Vec2(**SIZES, task="classify", num_classes=3))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "make"),
    [("wav2vec2-base", "wav2vec2_base"), ("wav2vec2-large", "wav2vec2_large"),
     ("wav2vec2-large-lv60", "wav2vec2_large_lv60k")],
)  # fmt: skip
def test_the_published_sizes_answer_as_torchaudios(name: str, make: str) -> None:
    import torchaudio

    theirs: Any = getattr(torchaudio.models, make)().eval()
    assert sum(p.numel() for p in theirs.parameters()) == zoo.info(name).parameters
    ours: Any = zoo.create(name, weights=theirs.state_dict(), normalise="none").eval()
    x = 0.1 * torch.randn(1, 8_000)
    with torch.no_grad():
        torch.testing.assert_close(ours(x), theirs(x)[0])
        torch.testing.assert_close(peer(ours)(x), ours(x))
