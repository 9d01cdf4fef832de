"""Backbones of feature maps: the same maps and the same information as timm's `features_only=True`."""

import copy
import re
from typing import Any

import pytest
import timm
import torch

import zoo
from zoo import ConfigError
from zoo.plugins.vision.convert import timm_peer

pytestmark = pytest.mark.usefixtures("float64")

VIT: dict[str, Any] = {"dim": 24, "depth": 5, "num_heads": 3, "mlp_dim": 32, "image_size": 32}
IMAGES = torch.randn(2, 3, 32, 64, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("out_indices", [None, 2, [0, 3], [-2]])
def test_maps_of_a_vision_transformer_are_those_of_blocks(out_indices: Any) -> None:
    whole: Any = zoo.create("vit-small", **VIT).eval()
    theirs = timm_peer(whole)
    backbone: Any = zoo.create(
        "vit-small", **VIT, features_only=True, out_indices=out_indices, weights=whole.state_dict()
    )
    images = IMAGES[..., :32]
    maps = backbone.eval()(images)
    wanted = theirs.forward_intermediates(images, indices=3 if out_indices is None else out_indices,
                                          intermediates_only=True)  # fmt: skip
    for one, other in zip(maps, wanted, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)
    assert [each.shape[1] for each in maps] == backbone.feature_info.channels()
    assert backbone.feature_info.reduction() == [16] * len(maps)
    assert all(p.requires_grad for p in backbone.parameters())
    sum(each.square().sum() for each in backbone(images)).backward()
    assert [name for name, p in backbone.named_parameters() if p.grad is None] == []


@pytest.mark.parametrize("name", ["test_resnet", "test_convnext", "test_efficientnet", "test_vit", "resnet18"])
@pytest.mark.parametrize("out_indices", [None, (1, 2)])
def test_maps_of_networks_are_those_of_timm(name: str, out_indices: Any) -> None:
    given = {} if out_indices is None else {"out_indices": out_indices}
    theirs: Any = timm.create_model(name, features_only=True, **given).eval()
    ours: Any = zoo.create(f"timm:{name}", features_only=True, **given).eval()
    theirs_net: Any = timm.create_model(name).eval()
    state = theirs_net.state_dict()
    assert ours.feature_info.channels() == theirs.feature_info.channels()
    assert ours.feature_info.reduction() == theirs.feature_info.reduction()
    side = theirs_net.pretrained_cfg["input_size"][1]
    images = torch.randn(1, 3, side, side)
    ours.model.net.load_state_dict({k: v for k, v in state.items() if k in ours.model.net.state_dict()})
    indices = list(ours.out_indices)
    wanted = theirs_net.forward_intermediates(images, indices=indices, intermediates_only=True)
    assert [each.shape for each in ours(images)] == [each.shape for each in theirs(images)]
    for one, other in zip(ours(images), wanted, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ["resnet-micro", "resnet-micro-fine", "hybrid-micro", "vit-micro"])
def test_what_is_known_of_maps_is_what_they_are(name: str) -> None:
    backbone: Any = zoo.create(name, features_only=True)
    images = torch.randn(1, 3, 24, 24)
    maps = backbone(images)
    info = backbone.feature_info
    assert [each.shape[1] for each in maps] == info.channels()
    assert [24 // each.shape[2] for each in maps] == info.reduction()
    modules = dict(zoo.create(name).named_modules())
    assert all(module in modules for module in info.module_name())
    assert [each["num_chs"] for each in info.get_dicts(["num_chs"])] == info.channels()
    assert (info.channels(0), info[0]["reduction"]) == (info.info[0]["num_chs"], info.reduction(0))
    assert backbone.spec.full_name == f"vision:{name}"
    backbone.set_grad_checkpointing()
    torch.testing.assert_close(copy.deepcopy(backbone).eval()(images), backbone.eval()(images))


def test_weights_are_loaded_before_the_classifier_goes(tmp_path: Any) -> None:
    whole = zoo.create("resnet-micro", num_classes=3).eval()
    zoo.weights.save(whole, tmp_path / "net")
    backbone = zoo.create(f"local-dir:{tmp_path / 'net'}", features_only=True).eval()
    images = torch.randn(1, 3, 24, 24)
    wanted = whole.forward_intermediates(images, indices=[0, 1, 2], output_fmt="NCHW", intermediates_only=True)
    torch.testing.assert_close(backbone(images), wanted)


def test_what_has_no_maps_says_so() -> None:
    with pytest.raises(ConfigError, match="features_only=True: 'bert-tiny' gives no feature maps"):
        zoo.create("bert-tiny", features_only=True)
    with pytest.raises(ConfigError, match=re.escape("out_indices=[1] without features_only=True")):
        zoo.create("vit-micro", out_indices=[1])
    with pytest.raises(ConfigError, match=re.escape("out_indices=[9]: the model has 4 feature maps")):
        zoo.create("vit-micro", features_only=True, out_indices=[9])
