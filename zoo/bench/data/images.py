"""An epoch of images, decoded and cropped, against torchvision and PyTorch's loader; and of cached ones."""

import os
from collections.abc import Iterable
from functools import cache, partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch.utils.data import DataLoader, Subset

from zoo.bench.grid.threads import torch_threads
from zoo.bench.speed.case import Case, Job
from zoo.data import Workers, open_corpus
from zoo.factory import create
from zoo.training.sampler import Sampler

COUNT, SIDE, SIZE, BATCH = 1500, 320, 224, 32
"""Images, pixels of a side as they are stored and as models read them, images of a batch."""
CLASSES = 10


@cache
def drawn(count: int, side: int) -> TemporaryDirectory[str]:
    """Write JPEGs of smooth noise in `images`, a folder for each class."""
    from PIL import Image

    generator, folder = np.random.default_rng(0), TemporaryDirectory()
    for label in range(CLASSES):
        Path(folder.name, f"images/class{label}").mkdir(parents=True)
    for number in range(count):
        coarse = Image.fromarray(generator.integers(0, 256, (side // 8, side // 8, 3), np.uint8))
        fine = generator.integers(-14, 15, (side, side, 1))
        pixels = np.clip(np.asarray(coarse.resize((side, side)), np.int16) + fine, 0, 255)
        Image.fromarray(pixels.astype(np.uint8)).save(Path(folder.name, f"images/class{number % CLASSES}/{number}.jpg"))
    return folder


def opened(count: int, side: int, size: int, augment: str) -> Any:
    """Open the images as a corpus that is augmented, and decodes."""
    spec = create.info("vit-micro").with_config(image_size=size)
    corpus: Any = open_corpus(f"folder:{drawn(count, side).name}/images", spec)
    return corpus.with_augmentation(augment).with_cache(False)


def epoch(corpus: Any, batch_size: int) -> Job:
    """Make the job that reads the training images once, with as many workers as there are threads."""
    sampler = Sampler(corpus, batch_size, 0)

    def read() -> int:
        workers = torch.get_num_threads()
        with torch_threads(1), Workers(sampler, corpus, workers=workers):
            return _counted(batch.target for batch in islice(sampler.batches(), sampler.per_epoch))

    return read


def against_torchvision(
    count: int = COUNT, side: int = SIDE, size: int = SIZE, batch_size: int = BATCH
) -> tuple[Job, Job]:
    """Read an epoch of random resized crops, and as many images by torchvision."""
    from torchvision import transforms
    from torchvision.datasets import ImageFolder

    corpus = opened(count, side, size, "crop")
    steps = transforms.RandomResizedCrop(size), transforms.RandomHorizontalFlip(), transforms.ToTensor()
    peer = ImageFolder(
        f"{drawn(count, side).name}/images", transforms.Compose([*steps, transforms.Normalize([0.5] * 3, [0.25] * 3)])
    )

    def read() -> int:
        chosen = Subset(peer, torch.randperm(len(peer))[: corpus.sizes["train"]].tolist())
        loader = DataLoader(chosen, batch_size, num_workers=torch.get_num_threads())
        return _counted(labels for _, labels in loader)

    return epoch(corpus, batch_size), read


def cached(
    augment: str, count: int = COUNT, side: int = SIDE, size: int = SIZE, batch_size: int = BATCH
) -> tuple[Job, Job]:
    """Read an epoch from the cache, which is filled, and one that decodes."""
    corpus = opened(count, side, size, augment)
    with patch.dict(os.environ, ZOO_CACHE=drawn(count, side).name + "/cache"):
        filled = corpus.with_cache(True)
    return epoch(filled, batch_size), epoch(corpus, batch_size)


def _counted(labels: Iterable[torch.Tensor]) -> int:
    return sum(len(each) for each in labels)


NAME = f"an epoch of {COUNT:,} JPEGs of {SIDE} pixels to {SIZE}"
CASES = [
    Case(f"{NAME}: crops", "torchvision's ImageFolder and DataLoader", 1.0, against_torchvision),
    Case(f"{NAME}, cached: shifts", "the same, decoded", 0.3, partial(cached, "shift")),
    Case(f"{NAME}, cached: crops", "the same, decoded", 0.3, partial(cached, "crop")),
]
