"""The Conformer on pictures: its convolution against PyTorch's, grids of any shape, tasks, and what is refused."""

from typing import Any

import pytest
import torch
from torch import nn

import zoo
from zoo.core import Tokens, Valid
from zoo.core.positions.attention_position import IN_ATTENTION
from zoo.errors import ConfigError, InputError
from zoo.plugins.conformer.conformer_vision import GridDepthwise, GridTokens
from zoo.training.optimization.optimizers import block_matrices

pytestmark = pytest.mark.usefixtures("float64")

TINY: dict[str, Any] = {"dim": 8, "depth": 2, "num_heads": 2, "mlp_dim": 16, "image_size": 16, "num_classes": 3}


def conformer(**options: Any) -> Any:
    torch.manual_seed(0)
    return zoo.create("conformer-vision-micro", **{**TINY, **options}).eval()


@pytest.mark.parametrize("kernel_size", [1, 3, 5])
@pytest.mark.parametrize("grid", [(1, 1), (3, 3), (2, 5)])
def test_the_convolution_is_that_of_torch_on_rows_and_columns(kernel_size: int, grid: tuple[int, int]) -> None:
    layer = GridDepthwise(4, kernel_size)
    torchs = nn.Conv2d(4, 4, kernel_size, padding=kernel_size // 2, groups=4, bias=False)
    torchs.load_state_dict(layer.state_dict())
    plane = torch.randn(2, 4, *grid)
    y = layer(GridTokens(plane.flatten(2).mT, grid=grid))
    torch.testing.assert_close(y, torchs(plane).flatten(2).mT)


def test_its_weights_are_drawn_as_those_of_torch() -> None:
    ours, theirs = GridDepthwise(2000, 3).weight, nn.Conv2d(2000, 2000, 3, groups=2000).weight
    torch.testing.assert_close(ours.abs().max(), theirs.abs().max(), rtol=0.02, atol=0)
    torch.testing.assert_close(ours.std(), theirs.std(), rtol=0.05, atol=0)


def test_patches_that_are_not_there_count_as_zeros() -> None:
    valid = torch.rand(2, 12) < 0.6
    x = torch.randn(2, 12, 4)
    layer = GridDepthwise(4, 3)
    holes = layer(GridTokens(x.masked_fill(~valid[..., None], torch.nan), keys=Valid(valid), grid=(3, 4)))
    torch.testing.assert_close(holes, layer(GridTokens(x * valid[..., None], grid=(3, 4))))


def test_vectors_without_a_grid_are_refused() -> None:
    with pytest.raises(InputError, match="9 tokens without a grid given to a convolution over rows and columns"):
        GridDepthwise(4, 3)(Tokens(torch.randn(1, 9, 4)))


@pytest.mark.parametrize(("kernel_size", "reach"), [(3, 1), (5, 2)])
def test_a_patch_reads_rows_and_columns_as_far_as_the_kernel(kernel_size: int, reach: int) -> None:
    model = conformer(depth=1, attention="window:0", kernel_size=kernel_size, task="tag", image_size=28)
    x = torch.randn(1, 3, 28, 28)
    changed = x.clone()
    changed[..., 12:16, 12:16] += 1  # the patch in the middle of seven by seven
    near = (model(x) - model(changed)).abs().amax(2).view(7, 7) > 1e-6
    expected = torch.zeros(7, 7, dtype=torch.bool)
    expected[3 - reach : 4 + reach, 3 - reach : 4 + reach] = True
    assert torch.equal(near, expected)


@pytest.mark.parametrize("size", [(16, 16), (8, 24), (20, 12)])
def test_any_size_and_aspect_ratio_is_read(size: tuple[int, int]) -> None:
    model = conformer()
    x = torch.randn(2, 3, *size)
    torch.testing.assert_close(model(x)[1:], model(x[1:]))
    features, states = model.forward_intermediates(x)
    assert features.shape == (2, size[0] * size[1] // 16, 8)
    torch.testing.assert_close(features, model.forward_features(x))
    torch.testing.assert_close(features, states[1])


def test_without_added_positions_and_attention_a_turned_picture_gives_the_turned_answer() -> None:
    model = conformer(position="none", attention="window:0", task="tag", patch_size=1, image_size=6)
    for block in model.encoder.blocks:  # a kernel that is the same turned
        kernel = block.convolution.depthwise.weight
        kernel.data = kernel.data + kernel.data.mT
    x = torch.randn(1, 3, 4, 6)
    y = model(x).unflatten(1, (4, 6)).transpose(1, 2).flatten(1, 2)
    torch.testing.assert_close(model(x.mT.contiguous()), y)


@pytest.mark.parametrize(("task", "shape"), [("classify", (2, 3)), ("tag", (2, 16, 3)), ("features", (2, 16, 8))])
def test_tasks(task: str, shape: tuple[int, ...]) -> None:
    model, x = conformer(task=task, num_classes=0 if task == "features" else 3), torch.randn(2, 3, 16, 16)
    features = model.forward_features(x)
    wanted = {"classify": features.mean(1), "tag": features, "features": features}[task]
    assert model(x).shape == shape
    torch.testing.assert_close(model(x), wanted if task == "features" else model.head.linear(wanted))


@pytest.mark.parametrize("position", ["none", "sinusoidal", *IN_ATTENTION])
def test_every_position_encoding_acts_where_it_should_and_learns(position: str) -> None:
    model = conformer(position=position)
    assert all((block.attention.position is not None) == (position in IN_ATTENTION) for block in model.encoder.blocks)
    model(torch.randn(2, 3, 16, 16)).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.encoder.parameters())


def test_the_model_reads_what_preprocess_gives() -> None:
    name = "conformer-vision-micro"
    pixels = torch.randint(0, 256, (3, 40, 30), dtype=torch.uint8)
    batch = zoo.preprocess(name)([pixels, 255 - pixels])
    assert batch.shape == (2, 3, 24, 24)
    first, second = zoo.create(name).eval()(batch)
    assert not torch.allclose(first, second)


def test_muon_takes_the_matrices_of_its_blocks() -> None:
    model = conformer()
    inside = [part.weight for part in model.encoder.modules() if isinstance(part, nn.Linear)]
    assert len(inside) == 2 * 8  # queries, keys and values; output; gate and output of the convolution; half steps
    assert {id(p) for p in block_matrices(model)} == {id(p) for p in inside}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"kernel_size": 4}, "kernel_size=4 is not odd"),
        ({"kernel_size": -1}, "kernel_size=-1 is not odd"),
        ({"patch_size": 5}, "image_size=16 is not a multiple of patch_size=5"),
        ({"position": "rotari"}, "position='rotari' is not one of"),
        ({"attention": "globals:16"}, "attention='globals:16' does not fit"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        conformer(**options)
