"""Weights of timm, torchvision and Hugging Face: the same answers, at two image sizes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import timm
import torch
import torchvision
from torch import Tensor, nn
from transformers import ViTConfig, ViTForImageClassification, ViTModel

import zoo
from zoo.core import Attention, ConfigError, Layout, NormedAttention
from zoo.plugins.shared.images.patch_embed import pair
from zoo.plugins.vision.convert import (
    HUGGING_FACE,
    TIMM,
    TORCHVISION,
    timm_peer,
    timm_to_zoo,
    to_layout,
    to_timm,
    to_zoo,
)
from zoo.plugins.vision.models import VisionTransformer
from zoo.plugins.vision.timm_wrapper import timm_model

pytestmark = pytest.mark.usefixtures("float64")

SIZES: dict[str, Any] = {"patch_size": 8, "dim": 24, "depth": 3, "num_heads": 3, "mlp_dim": 48, "num_classes": 5}


def randomised(model: nn.Module) -> nn.Module:
    generator = torch.Generator().manual_seed(0)
    for p in model.parameters():
        p.data = torch.randn(p.shape, generator=generator) * 0.2
    return model.eval()


def timm_vit(image_size: int) -> nn.Module:
    return timm.models.VisionTransformer(
        img_size=image_size, patch_size=8, embed_dim=24, depth=3, num_heads=3, mlp_ratio=2, num_classes=5
    )


def torchvision_vit(image_size: int) -> nn.Module:
    return torchvision.models.VisionTransformer(image_size, 8, 3, 3, 24, 48, num_classes=5)


def hugging_face_config(image_size: int) -> ViTConfig:
    return ViTConfig(
        hidden_size=24, num_hidden_layers=3, num_attention_heads=3, intermediate_size=48, image_size=image_size,
        patch_size=8, num_labels=5,  # type: ignore[call-arg]
        layer_norm_eps=1e-6,
    )  # fmt: skip


def hugging_face_vit(image_size: int) -> nn.Module:
    class Logits(ViTForImageClassification):  # type: ignore[no-untyped-call]
        def forward(self, images: Tensor) -> Tensor:
            return super().forward(images).logits

    return Logits(hugging_face_config(image_size))


@pytest.mark.parametrize("image_size", [32, 48])
@pytest.mark.parametrize("peer", [timm_vit, torchvision_vit, hugging_face_vit])
def test_logits_equal_the_peers(peer: "type[nn.Module]", image_size: int) -> None:
    theirs = randomised(peer(image_size))
    ours = VisionTransformer(image_size=image_size, **SIZES).eval()
    ours.load_state_dict(to_zoo(theirs.state_dict(), ours))
    x = torch.randn(2, 3, image_size, image_size)
    torch.testing.assert_close(ours(x), theirs(x))


def test_hugging_face_features_come_without_the_pooler() -> None:
    theirs = randomised(ViTModel(hugging_face_config(32)))
    ours = VisionTransformer(image_size=32, **SIZES | {"num_classes": 0}).eval()
    ours.load_state_dict(to_zoo(theirs.state_dict(), ours))
    x = torch.randn(2, 3, 32, 32)
    torch.testing.assert_close(ours.forward_features(x), theirs(x).last_hidden_state)


def test_checkpoints_of_transformers_4_are_read_too() -> None:
    theirs = randomised(ViTForImageClassification(hugging_face_config(32)))
    older = {
        r"layers\.(\d+)\.attention\.(q|k|v)_proj": r"encoder.layer.\1.attention.attention.\2",
        r"layers\.(\d+)\.attention\.o_proj": r"encoder.layer.\1.attention.output.dense",
        r"layers\.(\d+)\.mlp\.fc1": r"encoder.layer.\1.intermediate.dense",
        r"layers\.(\d+)\.mlp\.fc2": r"encoder.layer.\1.output.dense",
        r"layers\.(\d+)\.layernorm": r"encoder.layer.\1.layernorm",
    }
    words = {"q": "query", "k": "key", "v": "value"}
    state = {}
    for key, value in theirs.state_dict().items():
        for new, old in older.items():
            key = re.sub(new, old, key)
        state[re.sub(r"attention\.(q|k|v)\.", lambda m: f"attention.{words[m[1]]}.", key)] = value
    ours = VisionTransformer(image_size=32, **SIZES)
    now = to_zoo(theirs.state_dict(), ours)
    then = to_zoo(state, ours)
    assert "vit.encoder.layer.0.attention.attention.query.weight" in state
    assert all(torch.equal(then[key], now[key]) for key in now)


def test_timms_layout_survives_there_and_back() -> None:
    theirs = randomised(timm_vit(32))
    ours = VisionTransformer(image_size=32, **SIZES)
    ours.load_state_dict(to_zoo(theirs.state_dict(), ours))
    back = to_timm(ours)
    assert back.keys() == theirs.state_dict().keys()
    assert all(torch.equal(back[key], value) for key, value in theirs.state_dict().items())


LAYOUTS = pytest.mark.parametrize(
    ("peer", "layout"), [(timm_vit, TIMM), (torchvision_vit, TORCHVISION), (hugging_face_vit, HUGGING_FACE)]
)


@LAYOUTS
def test_weights_go_to_each_library_and_back_bit_for_bit(peer: "type[nn.Module]", layout: Layout) -> None:
    theirs = randomised(peer(32)).state_dict()
    ours = VisionTransformer(image_size=32, **SIZES)
    ours.load_state_dict(to_zoo(theirs, ours))
    back = layout.prefixed(to_layout(ours, layout))
    assert back.keys() == theirs.keys()
    assert all(torch.equal(back[key], value) for key, value in theirs.items())
    again = to_zoo(back, ours)
    assert all(torch.equal(again[key], value) for key, value in ours.state_dict().items())


def test_checkpoints_of_older_torchvision_are_read_too() -> None:
    state = randomised(torchvision_vit(32)).state_dict()
    older = {key.replace("mlp.0.", "mlp.linear_1.").replace("mlp.3.", "mlp.linear_2."): state[key] for key in state}
    ours = VisionTransformer(image_size=32, **SIZES)
    now, then = to_zoo(state, ours), to_zoo(older, ours)
    assert older.keys() != state.keys()
    assert now.keys() == then.keys() == ours.state_dict().keys()
    assert all(torch.equal(then[key], now[key]) for key in now)


@LAYOUTS
def test_a_weight_that_another_library_has_no_name_for_is_named(peer: "type[nn.Module]", layout: Layout) -> None:
    ours = VisionTransformer(image_size=32, **SIZES)
    ours.register_buffer("surprise", torch.zeros(1))
    with pytest.raises(ConfigError, match="no name for surprise"):
        to_layout(ours, layout)


def test_positions_of_another_grid_are_interpolated_as_timm_does() -> None:
    theirs = randomised(timm_vit(32))
    ours = VisionTransformer(image_size=48, **SIZES).eval()
    ours.load_state_dict(to_zoo(theirs.state_dict(), ours))
    theirs.set_input_size(img_size=(48, 48))
    x = torch.randn(1, 3, 48, 48)
    torch.testing.assert_close(ours(x), theirs(x))


def test_our_own_layout_and_unknown_keys_pass_untouched() -> None:
    ours = VisionTransformer(image_size=32, **SIZES)
    state = ours.state_dict() | {"surprise": torch.zeros(1)}
    assert to_zoo(state, ours).keys() == state.keys()
    foreign = timm_vit(32).state_dict() | {"surprise": torch.zeros(1)}
    assert "surprise" in to_zoo(foreign, ours)


def test_a_timm_network_keeps_its_own_layout() -> None:
    model = timm_model(architecture="test_resnet", num_classes=5)
    state = timm.create_model("test_resnet", num_classes=5).state_dict()
    model.load_state_dict(timm_to_zoo(state, model))
    assert timm_to_zoo(model.state_dict(), model).keys() == model.state_dict().keys()


@pytest.mark.usefixtures("on_device")
def test_the_peer_is_the_same_function() -> None:
    for pool, attention in (("first", Attention), ("mean", NormedAttention)):
        ours = VisionTransformer(image_size=32, pool=pool, attention=attention, **SIZES).eval()
        randomised(ours)
        x = torch.randn(2, 3, 32, 32)
        torch.testing.assert_close(timm_peer(ours)(x), ours(x))


def test_colour_weights_read_grey_images_as_the_sum_of_the_channels() -> None:
    theirs = randomised(timm_vit(32))
    ours = VisionTransformer(image_size=32, in_chans=1, **SIZES).eval()
    ours.load_state_dict(to_zoo(theirs.state_dict(), ours))
    x = torch.randn(2, 1, 32, 32)
    torch.testing.assert_close(ours(x), theirs(x.expand(-1, 3, -1, -1)))


def test_a_square_grid_is_interpolated_to_a_grid_of_as_many_patches() -> None:
    theirs = randomised(timm_vit(32))
    ours = VisionTransformer(image_size=(16, 64), **SIZES).eval()
    ours.load_state_dict(to_zoo(theirs.state_dict(), ours))
    theirs.set_input_size(img_size=(16, 64))
    x = torch.randn(1, 3, 16, 64)
    torch.testing.assert_close(ours(x), theirs(x))


def test_our_own_weights_are_fitted_to_another_grid() -> None:
    small, large = (VisionTransformer(image_size=size, **SIZES).eval() for size in (32, 48))
    large.load_state_dict(to_zoo(small.state_dict(), large))
    x = torch.randn(1, 3, 48, 48)
    small.stem.position = large.stem.position
    torch.testing.assert_close(small(x), large(x))


VIT: dict[str, Any] = {"dim": 24, "depth": 2, "num_heads": 3, "mlp_dim": 32, "image_size": 32}


def saved(folder: Path, name: str, **keywords: Any) -> Any:
    """Save a model with weights of its own, and check that it is read back as it was."""
    model: Any = randomised(zoo.create(name, **keywords))
    zoo.weights.save(model, folder)
    again: Any = zoo.create(f"local-dir:{folder}")
    assert again.spec.config == model.spec.config
    assert again.state_dict().keys() == model.state_dict().keys()
    assert all(torch.equal(value, model.state_dict()[key]) for key, value in again.state_dict().items())
    return model


@pytest.mark.parametrize(
    ("name", "keywords", "architecture"),
    [
        ("vit-tiny", {}, "vit_tiny_patch16_224"),
        ("vit-small-p8", {"num_classes": 5, "in_chans": 1}, "vit_small_patch8_224"),
        ("vit-base-p32", {"image_size": [32, 64], "num_classes": 0}, "vit_base_patch32_224"),
        ("vit-large", {"pool": "mean", "num_classes": 7}, "vit_large_patch16_224"),
        ("vit-huge", {"image_size": 28, "attention": "qk-norm"}, "vit_huge_patch14_224"),
        ("vit-tiny", {"position": "none", "patch_size": 8}, "vit_tiny_patch16_224"),
        ("vit-tiny", {"dim": 27, "mlp_dim": 29}, "vit_tiny_patch16_224"),
        ("vit-micro", {"image_size": 24}, "vit_tiny_patch16_224"),
        ("resnet-18", {"num_classes": 5}, "resnet18"),
        ("timm:vit_tiny_patch16_224", {"num_classes": 4, "in_chans": 1, "image_size": 32}, "vit_tiny_patch16_224"),
    ],
)
@torch.no_grad()
def test_timm_reads_what_is_saved(name: str, keywords: dict[str, Any], architecture: str, tmp_path: Path) -> None:
    keywords = keywords if ":" in name or "resnet" in name else VIT | keywords
    ours = saved(tmp_path, name, **keywords).double()
    theirs: Any = timm.create_model(f"local-dir:{tmp_path}", pretrained=True).double().eval()
    assert theirs.pretrained_cfg["architecture"] == architecture
    x = torch.randn(2, ours.spec.config.get("in_chans", 3), *pair(keywords.get("image_size", 64)), dtype=torch.double)
    assert ours(x).std() > 0
    torch.testing.assert_close(theirs(x), ours(x))


@torch.no_grad()
def test_timm_prepares_images_and_changes_size_and_labels_of_what_is_saved(tmp_path: Path) -> None:
    saved(tmp_path, "vit-tiny", **VIT, num_classes=5)
    theirs: Any = timm.create_model(f"local-dir:{tmp_path}", pretrained=True, num_classes=3, img_size=48).eval()
    assert list(timm.data.resolve_data_config({}, model=theirs)["mean"]) == [0.5, 0.5, 0.5]
    assert theirs.head.weight.shape == (3, 24)
    ours: Any = zoo.create(f"local-dir:{tmp_path}", num_classes=3, image_size=48).eval()
    x = torch.randn(1, 3, 48, 48)
    torch.testing.assert_close(ours.forward_features(x), theirs.forward_features(x))


@pytest.mark.parametrize(
    "keywords",
    [
        {"position": "rotary"},
        {"attention": "window:2"},
        {"task": "tag", "num_classes": 3},
        {"eps": 1e-12},
        {"image_size": [16, 64]},  # four patches in a row: timm's layout does not tell them from two by two
    ],
)
def test_what_timm_does_not_have_is_saved_in_our_layout(keywords: dict[str, Any], tmp_path: Path) -> None:
    saved(tmp_path, "vit-tiny", **VIT | keywords)
    assert json.loads((tmp_path / "config.json").read_text())["architecture"] == "vit-tiny"
