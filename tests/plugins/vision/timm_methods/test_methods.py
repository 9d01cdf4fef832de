"""timm's methods on models of the zoo: the same shapes, and with the same weights the same numbers, as in timm."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import timm
import torch
from timm.data import resolve_model_data_config
from timm.models import group_parameters
from timm.optim import param_groups_layer_decay
from torch import Tensor

import zoo
from zoo import ConfigError
from zoo.plugins.vision.convert import timm_peer

pytestmark = pytest.mark.usefixtures("float64")

SMALL: dict[str, Any] = {"dim": 24, "depth": 4, "num_heads": 3, "mlp_dim": 32, "image_size": (48, 32), "num_classes": 5}
IMAGES = torch.randn(2, 3, 48, 32, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
NETS = ["timm:test_resnet", "timm:test_convnext", "timm:test_vit", "timm:test_efficientnet"]


def randomised(model: Any) -> Any:
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.1)
    return model.eval()


@pytest.fixture
def vit() -> tuple[Any, Any]:
    """Give a vision transformer, and timm's with the same weights."""
    model = randomised(zoo.create("vit_small_patch16_224", **SMALL))
    return model, timm_peer(model)


def same(ours: Any, theirs: Any) -> None:
    assert isinstance(ours, Tensor) == isinstance(theirs, Tensor)
    for one, other in [(ours, theirs)] if isinstance(ours, Tensor) else zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("indices", [None, 2, [0, -1]])
@pytest.mark.parametrize("norm", [False, True])
def test_intermediate_maps_of_a_vision_transformer_are_timms(vit: Any, indices: Any, norm: bool) -> None:
    ours, theirs = vit
    given: dict[str, Any] = {"indices": indices, "norm": norm, "output_fmt": "NCHW"}
    same(
        ours.forward_intermediates(IMAGES, **given, intermediates_only=True),
        theirs.forward_intermediates(IMAGES, **given, intermediates_only=True),
    )
    last, maps = ours.forward_intermediates(IMAGES, **given)
    other, others = theirs.forward_intermediates(IMAGES, **given)
    same(last, other)
    same(maps, others)
    assert maps[0].shape == (2, 24, 3, 2)


def test_vectors_between_blocks_are_still_the_zoos(vit: Any) -> None:
    ours, _ = vit
    x, states = ours.forward_intermediates(IMAGES, indices=[1, -1])
    torch.testing.assert_close(states[1], x, atol=0, rtol=0)
    torch.testing.assert_close(x, ours.forward_features(IMAGES))
    assert states[0].shape == (2, 7, 24)
    with pytest.raises(ConfigError, match="output_fmt='NHWC' is not one of NLC, NCHW"):
        ours.forward_intermediates(IMAGES, output_fmt="NHWC")


def test_features_head_and_classifier_of_a_vision_transformer_are_timms(vit: Any) -> None:
    ours, theirs = vit
    features = ours.forward_features(IMAGES)
    same(features, theirs.forward_features(IMAGES))
    same(ours.forward_head(features), theirs(IMAGES))
    same(ours.forward_head(features, pre_logits=True), theirs.forward_head(features, pre_logits=True))
    same(ours.get_classifier().weight, theirs.get_classifier().weight)
    assert ours.global_pool == theirs.global_pool == "token"
    for model in vit:
        model.reset_classifier(7, "token")
        assert model.get_classifier().weight.shape == (7, 24)
        model.reset_classifier(0)
        assert isinstance(model.get_classifier(), torch.nn.Identity)
    same(ours(IMAGES), theirs(IMAGES))
    with pytest.raises(ConfigError, match=re.escape("global_pool='avg' of a model whose pool is 'token'")):
        ours.reset_classifier(3, global_pool="avg")


@pytest.mark.parametrize(("task", "pool"), [("tag", ""), ("features", ""), ("classify", "avg")])
def test_other_heads_answer_from_features(task: str, pool: str) -> None:
    model = zoo.create("vit-mini", task=task, num_classes=3 * (task != "features"), depth=1)
    images = torch.randn(1, 3, 32, 32)
    assert model.global_pool == pool
    torch.testing.assert_close(model.forward_head(model.forward_features(images)), model(images))
    reads = model.forward_head(model.forward_features(images), pre_logits=True)
    assert reads.shape == ((1, 192) if task == "classify" else (1, 64, 192))


def test_groups_of_parameters_are_those_of_timm(vit: Any) -> None:
    groups = [group_parameters(model, model.group_matcher()) for model in vit]
    counts = [
        {number: sum(dict(model.named_parameters())[name].numel() for name in names) for number, names in each.items()}
        for model, each in zip(vit, groups, strict=True)
    ]
    assert counts[0] == counts[1]
    assert len(counts[0]) == 2 + SMALL["depth"]
    decayed = [
        sorted((round(group["lr_scale"], 6), group["weight_decay"], sum(p.numel() for p in group["params"]))
               for group in param_groups_layer_decay(model, 0.05, model.no_weight_decay(), layer_decay=0.5))
        for model in vit
    ]  # fmt: skip
    assert decayed[0] == decayed[1]


@pytest.mark.parametrize("make", [lambda: zoo.create("vit-mini", depth=2), lambda: zoo.create("hybrid-micro"),
                                  lambda: zoo.create("timm:test_vit")])  # fmt: skip
def test_gradients_are_the_same_where_blocks_are_computed_again(make: Callable[[], Any]) -> None:
    model = make().eval()
    (images,) = zoo.example(model.spec.full_name)
    gradients = []
    for enable in (True, False):
        model.set_grad_checkpointing(enable)
        model.zero_grad()
        model(images.double()).square().sum().backward()
        gradients.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
    assert len(gradients[0]) == len(gradients[1]) > 0
    torch.testing.assert_close(*gradients)


def test_blocks_are_computed_again_for_gradients_alone() -> None:
    model: Any = zoo.create("vit-mini", depth=2).eval()
    calls: list[int] = []
    for block in model.encoder.blocks:
        block.norm1.register_forward_hook(lambda *_: calls.append(1))
    images = torch.randn(1, 3, 32, 32)
    counts = []
    for enable, grad in ((True, True), (True, False), (False, True)):
        calls.clear()
        model.set_grad_checkpointing(enable)
        with torch.set_grad_enabled(grad):
            answer = model(images).sum()
        if grad:
            answer.backward()
        counts.append(len(calls))
    assert counts == [4, 2, 2]


def test_networks_that_timm_cannot_compute_again_say_so() -> None:
    with pytest.raises(ConfigError, match="timm cannot compute VGG again"):
        zoo.create("timm:vgg11", device="meta").set_grad_checkpointing()


@pytest.mark.parametrize("name", NETS)
def test_networks_of_timm_have_its_methods(name: str) -> None:
    ours = randomised(zoo.create(name, num_classes=5))
    theirs = timm.create_model(name.removeprefix("timm:"), num_classes=5).eval()
    theirs.load_state_dict(ours.net.state_dict())
    images = torch.randn(2, 3, *theirs.pretrained_cfg["input_size"][1:])
    given: dict[str, Any] = {"output_fmt": "NCHW", "intermediates_only": True}
    same(ours.forward_intermediates(images, **given), theirs.forward_intermediates(images, **given))
    own = theirs.forward_features(images)
    same(ours.forward_features(images), own if own.ndim == 3 else own.flatten(2).mT)
    for x in (own, ours.forward_features(images)):
        same(ours.forward_head(x), theirs(images))
        same(ours.forward_head(x, pre_logits=True), theirs.forward_head(own, pre_logits=True))
    assert ours.get_classifier() is ours.net.get_classifier()
    assert ours.default_cfg == ours.pretrained_cfg == theirs.pretrained_cfg
    groups = group_parameters(ours, ours.group_matcher())
    wanted = group_parameters(theirs, theirs.group_matcher())
    assert {k: [name.removeprefix("net.") for name in v] for k, v in groups.items()} == wanted
    ours.reset_classifier(3, global_pool="avg")
    assert ours(images).shape == (2, 3)


def test_maps_of_channels_last_networks_are_maps() -> None:
    model = zoo.create("timm:swin_tiny_patch4_window7_224", num_classes=3, embed_dim=12, depths=(1, 1, 1, 1),
                       num_heads=(1, 1, 2, 2), image_size=64, window_size=2).eval()  # fmt: skip
    images = torch.randn(1, 3, 64, 64)
    _, states = model.forward_intermediates(images)
    maps = model.forward_intermediates(images, output_fmt="NCHW", intermediates_only=True)
    for state, image in zip(states, maps, strict=True):
        torch.testing.assert_close(state, image.flatten(2).mT)
    torch.testing.assert_close(model.forward_head(model.forward_features(images)), model(images))


def test_the_preparation_of_images_is_what_timm_reads() -> None:
    ours, theirs = zoo.create("vit-tiny", depth=1), timm.create_model("vit_tiny_patch16_224", depth=1)
    assert resolve_model_data_config(ours) == resolve_model_data_config(theirs)
    cfg = ours.default_cfg
    modules = dict(ours.named_modules())
    assert modules[cfg["classifier"]] is ours.get_classifier()
    assert cfg["first_conv"] in modules
    assert (cfg["tag"], cfg["num_classes"]) == ("augreg_in21k_ft_in1k", 1000)
    assert cfg["hf_hub_id"] == "timm/vit_tiny_patch16_224.augreg_in21k_ft_in1k"
    hybrid = zoo.create("hybrid-micro")
    assert hybrid.pretrained_cfg["first_conv"] in dict(hybrid.named_modules())
