"""Convolutional encoders of text: against plain layers of PyTorch, padding, reach, and what is refused."""

import math
from typing import Any

import pytest
import torch
from torch import nn

import zoo
from zoo.core import Lengths, Tokens
from zoo.errors import ConfigError
from zoo.plugins.text.models.convolutional import GatedBlock, ParallelConvolutions

pytestmark = pytest.mark.usefixtures("float64")

NAMES = ("textcnn-micro", "gatedcnn-micro", "text-hybrid-micro")
IDS = torch.tensor([[1, 7, 9, 4, 2, 3], [1, 8, 2, 0, 0, 0]])


def model(name: str, **options: Any) -> Any:
    torch.manual_seed(0)
    return zoo.create(name, vocab_size=12, num_classes=3, **options).eval()


def test_text_cnn_is_the_maximum_over_convolutions_of_torch() -> None:
    cnn = model("textcnn-micro", dim=8, feature_maps=5)
    layer = cnn.encoder.blocks[0]
    x = cnn.stem.embed(IDS[:1]).mT
    maps = [
        nn.functional.conv1d(nn.functional.pad(x, ((width - 1) // 2, width // 2)), conv.weight, conv.bias)
        for width, conv in zip((3, 4, 5), layer.convolutions, strict=True)
    ]
    torch.testing.assert_close(cnn(IDS[:1]), cnn.head.linear(torch.cat(maps, 1).relu().amax(2)))


def test_a_gated_block_is_that_of_the_paper() -> None:
    block = GatedBlock(4, 3)
    x = torch.randn(2, 5, 4)
    a, b = nn.functional.conv1d(x.mT, block.conv.weight, block.conv.bias, padding=1).mT.chunk(2, 2)
    torch.testing.assert_close(block(Tokens(x)).x, (x + a * b.sigmoid()) / math.sqrt(2))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("task", ["classify", "tag"])
def test_a_text_in_a_batch_is_answered_as_alone(name: str, task: str) -> None:
    made = model(name, task=task)
    together = made(IDS, torch.tensor([6, 3]))
    changed = made(IDS.index_fill(1, torch.tensor([3, 4, 5]), 11)[1:], torch.tensor([3]))
    alone = made(IDS[1:, :3])
    for answer in (together[1:], changed):
        torch.testing.assert_close(answer[:, :3] if task == "tag" else answer, alone)


@pytest.mark.parametrize("block", [GatedBlock(4, 3), ParallelConvolutions(4, (3,), 2)])
def test_what_is_not_there_counts_as_zeros(block: nn.Module) -> None:
    x = torch.randn(1, 5, 4)
    held = Tokens(x.index_fill(1, torch.tensor([3, 4]), torch.nan), keys=Lengths(torch.tensor([3])))
    torch.testing.assert_close(block.double()(held).x[:, :3], block(Tokens(x[:, :3])).x)


@pytest.mark.parametrize(("name", "reach"), [("textcnn-micro", 2), ("gatedcnn-micro", 3), ("text-hybrid-micro", 19)])
def test_convolutions_read_neighbours_and_attention_reads_all(name: str, reach: int) -> None:
    made = model(name, task="features")
    ids = torch.full((1, 20), 5)
    changed = ids.clone()
    changed[0, 0] = 6
    near = (made(ids) - made(changed)).abs().amax(2)[0] > 1e-12
    assert near.nonzero().max() == reach


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("textcnn-micro", {"widths": []}, r"widths=\[\]"),
        ("textcnn-micro", {"widths": [3, 0]}, r"widths=\[3, 0\]"),
        ("gatedcnn-micro", {"kernel_size": 4}, "kernel_size=4 is not odd"),
        ("gatedcnn-micro", {"depth": 0}, "depth=0"),
        ("text-hybrid-micro", {"kernel_size": 2}, "kernel_size=2 is not odd"),
    ],
)
def test_what_does_not_fit_is_refused(name: str, options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        model(name, **options)
