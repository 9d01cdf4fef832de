"""The depthwise-separable CNN: against plain layers of PyTorch, alone and in a batch, and what is refused."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import zoo
from zoo.core import Lengths, Tokens
from zoo.errors import ConfigError
from zoo.plugins.speech.models.separable_cnn import PlaneNorm, SeparableBlock, as_vectors

pytestmark = pytest.mark.usefixtures("float64")


def cnn(**options: Any) -> Any:
    torch.manual_seed(0)
    return zoo.create("dscnn-micro", **{"channels": 6, "depth": 2, "num_classes": 3, **options}).eval()


def plain_norm(norm: PlaneNorm) -> nn.BatchNorm2d:
    """Give the norm of PyTorch with the same statistics, drawn as after a training."""
    norm.running_mean.normal_()
    norm.running_var.uniform_(0.5, 2)
    plain = nn.BatchNorm2d(norm.num_features)
    plain.load_state_dict(norm.state_dict())
    return plain.eval()


def test_it_is_the_same_as_plain_layers_of_torch() -> None:
    model = cnn()
    first, blocks = model.stem.subsample, model.encoder.blocks
    layers = [first.conv, plain_norm(first.norm), nn.ReLU()]
    for block in blocks:
        layers += [block.depthwise, plain_norm(block.norm1), nn.ReLU()]
        layers += [block.pointwise, plain_norm(block.norm2), nn.ReLU()]
    plain = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), model.head.linear)
    features = torch.randn(2, 37, 40)  # frames, not samples
    features = (features - features.mean(1, keepdim=True)) / features.std(1, correction=0, keepdim=True)
    padded = nn.functional.pad(features, (4, 4, 3, 6))[:, None]
    torch.testing.assert_close(model(features), plain(padded), atol=1e-4, rtol=1e-4)  # the norm of features adds an eps


def test_a_sound_in_a_batch_is_answered_as_alone(answers_alone: Callable[[Any], None]) -> None:
    answers_alone(cnn(task="tag"))


def test_statistics_of_the_norm_are_those_of_what_is_there() -> None:
    x, valid = torch.randn(3, 4, 5, 2), torch.tensor([5, 2, 3])[:, None] > torch.arange(5)
    there = x.permute(0, 2, 1, 3)[valid]  # places, channels, bands
    ours, theirs = PlaneNorm(4).train(), nn.BatchNorm1d(4).train()
    y = ours(x.masked_fill(~valid[:, None, :, None], torch.nan), valid).permute(0, 2, 1, 3)
    torch.testing.assert_close(y[valid], theirs(there))
    assert not y[~valid].any()
    torch.testing.assert_close(ours.running_var, theirs.running_var)


@pytest.mark.parametrize("keys", [None, Lengths(torch.tensor([4, 2]))])
def test_gradients_of_a_block_in_training_are_right(keys: Lengths | None) -> None:
    block, weights = SeparableBlock(2).train(), torch.randn(2, 4, 4)
    x = torch.randn(2, 4, 4, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: (block(Tokens(x, keys=keys)).x * weights).sum(), (x,))


def test_a_block_reads_neighbours_in_time_and_no_padding() -> None:
    block = SeparableBlock(4).eval()
    x = torch.randn(1, 6, 8)
    changed = x.clone()
    changed[:, 2] += 1
    near = (block(Tokens(x)).x - block(Tokens(changed)).x).abs().amax(2)[0] > 1e-9
    assert near.tolist() == [False, True, True, True, False, False]
    held = Tokens(x.index_fill(1, torch.tensor([4, 5]), torch.nan), keys=Lengths(torch.tensor([4])))
    torch.testing.assert_close(block(held).x[:, :4], block(Tokens(x[:, :4])).x)


def test_vectors_hold_the_channels_of_all_bands() -> None:
    plane = torch.randn(2, 3, 5, 4)
    torch.testing.assert_close(as_vectors(plane)[:, :, 3:6], plane[..., 1].mT)


@pytest.mark.parametrize(
    ("options", "text"), [({"bands": 7}, "bands=7"), ({"depth": 0}, "depth=0"), ({"channels": 0}, "channels=0")]
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        cnn(**options)
