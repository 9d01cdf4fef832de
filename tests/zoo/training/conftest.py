"""Two corpora small enough to be trained on in a second: bright quadrants, and copied words."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from zoo.core import Attention, Decoder, Encoder, NextToken
from zoo.core.layers.token_embedding import TokenEmbed
from zoo.core.losses.loss import cross_entropy
from zoo.core.models.generator import Generator
from zoo.data.corpus import Batch

TINY: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16, "patch_size": 4, "image_size": 8}
"""What makes a `vit-micro` very small."""


class Quadrants:
    """Ask which quarter of a picture is bright."""

    name = "quadrants"
    description = "Pictures with one bright quarter."
    fingerprint = "quadrants-1"
    task = "classify"
    metric = "accuracy"
    sizes: Mapping[str, int] = {"train": 40, "validation": 16, "test": 16}

    def overrides(self) -> dict[str, Any]:
        return {"num_classes": 4, "in_chans": 1}

    def epoch(self, generator: torch.Generator, batch_size: int) -> Sequence[Tensor]:
        return torch.randperm(40, generator=generator).split(batch_size)

    def batch(self, index: Tensor, generator: torch.Generator) -> Batch:
        batch = self._made(index)
        (pictures,) = batch.inputs
        return Batch((pictures + 0.1 * torch.randn(pictures.shape, generator=generator),), batch.target)

    def held_out(self, split: str, batch_size: int) -> Iterator[Batch]:
        yield self._made(torch.arange(100, 116))

    def classes_of(self, split: str) -> Tensor:
        return self._made(torch.arange(40) if split == "train" else torch.arange(100, 116)).target

    def placed(self, split: str, batch_size: int) -> Iterator[tuple[Sequence[int], Batch]]:
        return ((range(16), batch) for batch in self.held_out(split, batch_size))

    def loss(self, answer: Tensor, target: Tensor, smoothing: float) -> Tensor:
        return cross_entropy(answer, target, smoothing)

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        ((inputs, target),) = self.held_out(split, batch_size)
        torch.rand(3)  # a validation may draw numbers: what follows has to be the same after an interruption
        answer = model(*inputs)
        return {
            "accuracy": float((answer.argmax(-1) == target).float().mean()),
            "loss": float(self.loss(answer, target, 0.0)),
        }

    def save(self, folder: Path) -> None:
        (folder / "labels.json").write_text(json.dumps(["nw", "ne", "sw", "se"]))

    def _made(self, index: Tensor) -> Batch:
        pictures = torch.zeros(len(index), 1, 8, 8)
        target = index % 4
        for picture, quarter in zip(pictures, target.tolist(), strict=True):
            row, column = divmod(quarter, 2)
            picture[0, 4 * row : 4 * row + 4, 4 * column : 4 * column + 4] = 1
        return Batch((pictures,), target)


@pytest.fixture
def quadrants() -> Quadrants:
    return Quadrants()


@pytest.fixture
def tiny() -> dict[str, Any]:
    return dict(TINY)


@pytest.fixture
def copier() -> Callable[..., Generator]:
    """Make a model that reads words and writes them; symbols 0 to 2, words 3 to 9."""

    def make(vocab_size: int = 10, dim: int = 16, crosses: bool = True) -> Generator:
        torch.manual_seed(0)
        embed = TokenEmbed(vocab_size, dim)
        decoder = Decoder(dim, 2, 2, 16, cross=Attention if crosses else None)
        encoder = Encoder(dim, 1, 2, 16) if crosses else None
        return Generator(embed, decoder, NextToken(dim, vocab_size, embed.embed), encoder=encoder)

    return make


@pytest.fixture
def copies() -> Batch:
    """Give two texts of different length, with the target shifted as teacher forcing wants."""
    source = torch.tensor([[3, 4, 5, 6], [7, 8, 0, 0]])
    written = torch.tensor([[1, 3, 4, 5, 6], [1, 7, 8, 0, 0]])
    target = torch.tensor([[3, 4, 5, 6, 2], [7, 8, 2, -100, -100]])
    return Batch((source, torch.tensor([4, 2]), written), target)


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[DeviceMesh]:
    """Be the only process of a group."""
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/group", rank=0, world_size=1)
    yield init_device_mesh("cpu", (1, 1))
    dist.destroy_process_group()
