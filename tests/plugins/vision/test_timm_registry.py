"""Names of timm: what the registry says of them, and the models behind them."""

import sys

import pytest
import timm
import torch
from timm.data import create_transform, resolve_data_config

import zoo
from zoo import ConfigError, MissingLibraryError, UnknownModelError
from zoo.plugins.vision.timm_registry import kind_of

pytestmark = pytest.mark.usefixtures("float64")


@pytest.mark.parametrize(
    ("architecture", "kind"), [("test_vit", "attention"), ("test_resnet", "convolution"), ("coat_tiny", "hybrid")]
)
def test_kinds_are_told_apart_by_the_layers(architecture: str, kind: str) -> None:
    assert kind_of(architecture) == kind


def test_the_example_has_the_size_of_the_network() -> None:
    name = "timm:vit_tiny_patch16_384"
    assert zoo.example(name)[0].shape == (2, 3, 384, 384)
    assert zoo.info(name).kind == "attention"


def test_a_network_of_fixed_size_is_made_for_another() -> None:
    model = zoo.create("timm:test_vit", image_size=64, num_classes=3)
    assert model(torch.randn(1, 3, 64, 64)).shape == (1, 3)
    with pytest.raises(ConfigError, match="image_size='64' is neither a number of pixels nor"):
        zoo.create("timm:test_vit", image_size="64")


def test_tags_label_patches_only() -> None:
    model = zoo.create("timm:test_vit", task="tag", num_classes=3)
    patches = (zoo.info("timm:test_vit").config["image_size"] // 16) ** 2
    model.eval()
    inputs = zoo.example("timm:test_vit")
    features = model.forward_features(*inputs)
    assert features.shape[1] > patches, "there is no prefix to leave out"
    torch.testing.assert_close(model(*inputs), model.head.linear(features[:, -patches:]))


def test_timms_default_weights_come_first() -> None:
    assert next(iter(zoo.info("timm:convnext_base").weights)) == timm.get_pretrained_cfg("convnext_base").tag
    assert list(zoo.info("timm:resnet50.tv_in1k").weights) == ["tv_in1k"]


def test_an_unknown_tag_is_refused() -> None:
    with pytest.raises(UnknownModelError, match=r"Unknown tag \(nonsense\) of model .* Valid tags: a1_in1k"):
        zoo.info("timm:resnet50.nonsense")


def test_preprocessing_follows_the_tag() -> None:
    theirs = create_transform(
        **resolve_data_config(pretrained_cfg=timm.get_pretrained_cfg("resnet50.tv_in1k").to_dict())
    )
    for name in ("timm:resnet50.tv_in1k", "resnet-50.tv_in1k"):
        assert str(theirs) in repr(zoo.preprocess(name))


def test_without_timm_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "timm", None)  # importing it fails
    with pytest.raises(MissingLibraryError, match="timm"):
        zoo.info("timm:resnet50")
    assert zoo.info("vit-micro").plugin == "vision"
