"""The vision models: sizes, shapes, options, and what they refuse."""

from typing import Any

import pytest
import timm
import torch

import zoo
from zoo import ConfigError, InputError
from zoo.core.positions.attention_position import IN_ATTENTION
from zoo.plugins.vision.models import VisionTransformer
from zoo.plugins.vision.timm_wrapper import HybridTransformer, TimmModel, small_resnet, timm_model

pytestmark = pytest.mark.usefixtures("float64")

BLOCKS: dict[str, Any] = {"dim": 8, "depth": 2, "num_heads": 2, "mlp_dim": 16}
TINY = BLOCKS | {"image_size": 16, "patch_size": 4, "num_classes": 3}
HYBRID = BLOCKS | {"layers": [1, 1], "channels": [4, 8], "strides": [1, 2]}
CNN: dict[str, Any] = {"layers": [1, 1], "channels": [4, 8], "strides": [1, 2], "stem": 4}


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("vit-tiny", 5_717_416), ("vit-small", 22_050_664), ("vit-base", 86_567_656), ("vit-base-p32", 88_224_232),
        ("vit-large", 304_326_632), ("vit-large-p32", 306_535_400), ("vit-huge", 632_045_800),
        ("resnet-18", 11_689_512), ("resnet-34", 21_797_672), ("resnet-50", 25_557_032), ("resnet-101", 44_549_160),
        ("resnet-152", 60_192_808), ("bit-r50x1", 25_549_352), ("bit-r50x3", 217_319_080), ("bit-r101x1", 44_541_480),
        ("bit-r101x3", 387_934_888), ("bit-r152x2", 236_335_208), ("bit-r152x4", 936_533_224),
    ],
)  # fmt: skip
def test_published_sizes(name: str, parameters: int) -> None:
    assert zoo.info(name).parameters == parameters


@pytest.mark.parametrize("size", [(16, 16), (8, 24), (32, 12)])
def test_any_size_and_aspect_ratio_is_read(size: tuple[int, int]) -> None:
    model, x = VisionTransformer(**TINY).eval(), torch.randn(2, 3, *size)
    assert model(x).shape == (2, 3)
    torch.testing.assert_close(model(x)[1:], model(x[1:]))
    assert model.forward_features(x).shape == (2, 1 + size[0] * size[1] // 16, 8)


@pytest.mark.parametrize(("task", "shape"), [("classify", (2, 3)), ("tag", (2, 16, 3)), ("features", (2, 17, 8))])
def test_tasks_of_a_transformer(task: str, shape: tuple[int, ...]) -> None:
    model = VisionTransformer(**TINY | {"task": task, "num_classes": 0 if task == "features" else 3}).eval()
    x = torch.randn(2, 3, 16, 16)
    features = model.forward_features(x)
    wanted = {"classify": features[:, 0], "tag": features[:, 1:], "features": features}[task]
    assert model(x).shape == shape
    torch.testing.assert_close(model(x), wanted if task == "features" else model.head.linear(wanted))


@pytest.mark.parametrize(("task", "shape"), [("classify", (2, 10)), ("tag", (2, 36, 10)), ("features", (2, 36, 8))])
def test_tasks_of_a_cnn(task: str, shape: tuple[int, ...]) -> None:
    model, x = small_resnet(**CNN, task=task).eval(), torch.randn(2, 3, 12, 12)
    assert model(x).shape == shape
    torch.testing.assert_close(model(x)[1:], model(x[1:]))
    if task != "classify":
        features = model.forward_features(x)
        torch.testing.assert_close(model(x), features if task == "features" else model.head.linear(features))


def test_mean_pooling_has_no_class_token() -> None:
    model, x = VisionTransformer(**TINY, pool="mean").eval(), torch.randn(2, 3, 16, 16)
    assert model.stem.class_token is None
    features = model.forward_features(x)
    assert features.shape == (2, 16, 8)
    torch.testing.assert_close(model(x), model.head.linear(features.mean(1)))


def test_without_classes_the_pooled_vector_is_the_answer() -> None:
    model = VisionTransformer(**TINY | {"num_classes": 0}).eval()
    x = torch.randn(2, 3, 16, 16)
    torch.testing.assert_close(model(x), model.forward_features(x)[:, 0])


def test_channels_are_free() -> None:
    for model, channels in ((VisionTransformer(**TINY, in_chans=5), 5), (small_resnet(**CNN, in_chans=1), 1)):
        x = torch.randn(1, channels, 16, 16, requires_grad=True)
        model.eval()(x).square().sum().backward()
        assert x.grad is not None
        assert x.grad.abs().sum((0, 2, 3)).gt(0).all(), "a channel is not read"


@pytest.mark.parametrize("position", ["learned", "sinusoidal", "none"])
def test_positions_are_a_part(position: str) -> None:
    model = VisionTransformer(**TINY, position=position, pool="mean").eval()
    x = torch.randn(1, 3, 16, 16)
    flipped = x.unflatten(3, (4, 4)).flip(3).flatten(3)  # swaps whole patches
    assert torch.allclose(model(x), model(flipped), atol=1e-5) == (position == "none")


def test_an_image_does_not_depend_on_its_batch_mates() -> None:
    for model in (VisionTransformer(**TINY), HybridTransformer(**HYBRID), small_resnet(**CNN)):
        model.eval()
        x = torch.randn(3, 3, 24, 24)
        torch.testing.assert_close(model(x)[1:2], model(x[1:2]))


def test_a_hybrid_has_attention_on_the_map_of_a_cnn() -> None:
    model = HybridTransformer(**HYBRID).eval()
    maps = model.attention_maps(torch.randn(2, 3, 24, 24))
    assert [m.shape for m in maps] == [(2, 2, 9, 9)] * 2
    torch.testing.assert_close(torch.stack(maps).sum(-1), torch.ones(2, 2, 2, 9))


def test_a_cnn_has_no_attention_maps_and_gives_its_stages() -> None:
    model = small_resnet(**CNN).eval()
    x = torch.randn(2, 3, 8, 8)
    assert model.attention_maps(x) == []
    features, states = model.forward_intermediates(x)
    torch.testing.assert_close(features, model.forward_features(x))
    torch.testing.assert_close(states[-1], features)
    assert states[1].shape == (2, 64, 4)


def test_timm_models_answer_as_in_timm() -> None:
    net: Any = timm.create_model("test_vit", num_classes=7).eval()
    model = TimmModel(net, "classify", 7, 3).eval()
    x = torch.randn(2, 3, *net.default_cfg["input_size"][1:])
    torch.testing.assert_close(model(x), net(x))
    maps = model.attention_maps(x)
    assert len(maps) == len(net.blocks)
    torch.testing.assert_close(maps[0].sum(-1), torch.ones(maps[0].shape[:-1]))
    assert all(block.attn.fused_attn for block in net.blocks)


def test_a_timm_classifier_is_reset() -> None:
    model = timm_model(architecture="test_resnet", num_classes=7)
    model.reset_classifier(5)
    assert model(torch.randn(2, 3, 32, 32)).shape == (2, 5)
    assert model.num_classes == 5


@pytest.mark.parametrize(
    ("image", "text"),
    [
        (torch.zeros(2, 3, 16, 16, dtype=torch.uint8), r"torch.uint8 .* preprocess first"),
        (torch.zeros(3, 16, 16), r"shape \(3, 16, 16\) are not \(batch, 3, height, width\); .* image\[None\]"),
        (torch.zeros(16, 16), r"shape \(16, 16\) are not \(batch, 3, height, width\)"),
        (torch.zeros(2, 16, 16, 3), r"have 16 channels.*channels come last: images.permute\(0, 3, 1, 2\)"),
        (torch.zeros(2, 1, 16, 16), r"have 1 channels, the model reads \(batch, 3, height, width\)"),
        (torch.zeros(0, 3, 16, 16), r"a batch of 0 images, shape \(0, 3, 16, 16\)"),
        (torch.zeros(1, 3, 16, 16, dtype=torch.float32), r"images are torch.float32, the model is torch.float64"),
    ],
)
@pytest.mark.parametrize("model", ["vit", "cnn"])
def test_what_is_no_batch_of_images_is_refused(model: str, image: torch.Tensor, text: str) -> None:
    built = VisionTransformer(**TINY) if model == "vit" else small_resnet(**CNN)
    with pytest.raises(InputError, match=text):
        built(image)


def test_sizes_that_are_no_multiple_of_the_patch_are_refused() -> None:
    with pytest.raises(InputError, match="images of 18x16 pixels are not a multiple of patch_size=4"):
        VisionTransformer(**TINY)(torch.zeros(1, 3, 18, 16))
    with pytest.raises(ConfigError, match="image_size=18 is not a multiple of patch_size=4"):
        VisionTransformer(**TINY | {"image_size": 18})
    with pytest.raises(ConfigError, match=r"layers=\[1\], channels=\[4, 8\], strides=\[1\]: one each for up to four"):
        small_resnet(layers=[1], channels=[4, 8], strides=[1])
    with pytest.raises(ConfigError, match="image_size=20 is not a multiple of 2 x patch_size=4"):
        HybridTransformer(**HYBRID, image_size=20)


def test_autocast_reads_float32_images() -> None:
    model, x = VisionTransformer(**TINY).float().eval(), torch.randn(1, 3, 16, 16).float()
    with torch.autocast("cpu", torch.bfloat16):
        answer = model(x)
    assert answer.dtype == torch.bfloat16
    torch.testing.assert_close(answer.float(), model(x), rtol=0.05, atol=0.05)


def test_a_class_token_that_reads_no_patch_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"attention=causal the class token, .* pool='mean', or task='tag'"):
        zoo.create("vit-tiny", attention="causal", device="meta")
    zoo.create("vit-tiny", attention="causal", task="tag", device="meta")
    zoo.create("vit-micro", attention="causal", device="meta")


def test_an_image_size_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="image_size='24' is neither a number of pixels nor"):
        VisionTransformer(**TINY | {"image_size": "24"})


@pytest.mark.parametrize("name", ["vit-micro", "hybrid-micro"])
@pytest.mark.parametrize("position", ["learned", "sinusoidal", *IN_ATTENTION])
def test_every_position_encoding_sees_the_order_of_the_patches_and_learns(name: str, position: str) -> None:
    model, (images,) = zoo.create(name, position=position).eval(), zoo.example(name)
    turned = torch.cat([images[:, :, 12:], images[:, :, :12]], dim=2)  # halves change places, as wholes
    assert not torch.allclose(model(images), model(turned), atol=1e-6)
    model(images).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.encoder.parameters())


@pytest.mark.parametrize("position", IN_ATTENTION)
def test_positions_inside_attention_read_other_image_sizes(position: str) -> None:
    model = VisionTransformer(**TINY | {"position": position}).eval()
    assert model.stem.position is None
    x = torch.randn(1, 3, 24, 8)
    assert not torch.allclose(model(x), model(x.flip(2))), "positions are not told apart"


def test_an_unknown_position_encoding_is_refused() -> None:
    with pytest.raises(
        ConfigError, match="position='rotari' is not one of learned, sinusoidal, floater, recurrent, none, rotary"
    ):
        zoo.create("vit-micro", position="rotari")


@torch.no_grad()
def test_with_patches_of_one_pixel_every_pixel_is_a_token() -> None:
    model = zoo.create("vit-micro", **TINY | {"image_size": 6, "patch_size": 1}).eval()
    image = torch.randn(1, 3, 6, 6)
    assert model.stem(image).x.shape[1] == 6 * 6
    moved = image.clone()
    moved[..., 2, 4] += 1
    changed = (model.stem(moved).x != model.stem(image).x).any(-1)[0]
    assert changed.nonzero().tolist() == [[2 * 6 + 4]]


@pytest.mark.parametrize("task", ["classify", "features"])
def test_pooled_features_of_a_cnn_are_what_its_classifier_reads(task: str) -> None:
    model: Any = timm_model(architecture="resnet18", task=task, num_classes=3 if task == "classify" else 0).eval()
    images = torch.randn(2, 3, 32, 32)
    found = model.pooled_features(images)
    wanted = model.forward_features(images).mean(1)
    torch.testing.assert_close(found, wanted)
    if task == "classify":
        torch.testing.assert_close(model.net.fc(found), model(images))
