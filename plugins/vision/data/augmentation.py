"""Augmentation by name, with torchvision's transforms (`torchvision.transforms.v2`).

Its transforms draw from torch's global generator. Here that is seeded for each image, from the generator of the batch
and the image's own number, and restored: what happens to an image depends on neither its neighbours nor the process.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from zoo import ConfigError
from zoo.core import IGNORED
from zoo.data import Batch, augmentation_names, mix
from zoo.plugins.vision.data.folders.lazy_images import LazyImages
from zoo.plugins.vision.data.pictures import Looks
from zoo.plugins.vision.image_source import Examples, ImageSource
from zoo.plugins.vision.sources import TORCHVISION
from zoo.registry import require

BASES = ("none", "shift", "crop", "rand", "trivial")
"""What happens to each image: nothing; the source's own, shifts and flips; a random resized crop (arXiv:1409.4842
sec. 6) and a flip; also RandAugment (arXiv:1909.13719) or TrivialAugment (arXiv:2103.10158)."""
EXTRAS = ("mixup", "cutmix", "erasing")
"""What may be added: arXiv:1710.09412 (alpha 0.2), arXiv:1905.04899 (alpha 1), arXiv:1708.04896 (probability 0.25)."""
Prepare = Callable[[Tensor], Any]
_MIXUP, _CUTMIX, _ERASED = 0.2, 1.0, 0.25


@dataclass(frozen=True)
class Augmentation:
    """Changes of training images.

    Args:
        base: one of `BASES`.
        extras: any of `EXTRAS`.
        alpha: of mixup: shares of two images are drawn from the beta distribution with it.
    """

    base: str = "shift"
    extras: frozenset[str] = frozenset()
    alpha: float = _MIXUP

    @classmethod
    def parse(cls, text: str) -> "Augmentation":
        """Read names such as `rand+mixup:0.4+erasing`; without one of `BASES`, it is `shift`.

        Raises:
            ConfigError: If a name is unknown or given twice, or there are two of `BASES`.
            MissingLibraryError: If torchvision is needed and not installed.
        """
        told = re.search(r"\bmixup:(\d*\.?\d+(?:e-?\d+)?)(?=$|[+,])", text, re.IGNORECASE)
        names = augmentation_names(text if told is None else text.replace(told[0], "mixup"), BASES, EXTRAS)
        if told is not None and not float(told[1]):
            raise ConfigError(f"augment={text!r}: the alpha of mixup is more than 0")
        base = next((name for name in names if name in BASES), "shift")
        found = cls(base, frozenset(names) - {base}, _MIXUP if told is None else float(told[1]))
        if found.crops or found.extras:
            require(f"augment={text!r}", (TORCHVISION,))
        return found

    @property
    def crops(self) -> bool:
        """Whether crops are taken of images of any size, which is done before they have that of the model."""
        return self.base not in ("none", "shift")

    def check(self, source: ImageSource) -> None:
        """Check that images can be changed so.

        Raises:
            ConfigError: If they have neither one channel nor three, and colours are changed.
        """
        if self.base in ("rand", "trivial") and source.channels not in (1, 3):
            raise ConfigError(f"augment={self.base!r} of images with {source.channels} channels: it changes 1 or 3")

    def batch(
        self, source: ImageSource, examples: Examples, index: Int[Tensor, " b"], generator: torch.Generator
    ) -> Batch:
        """Read training images, prepare and change them; with mixup or cutmix the target is a share of each class.

        They are packed where nothing is done to floats.

        Args:
            source: prepares the images.
            examples: of which.
            index: of the images among them.
            generator: all randomness follows from it and the index.
        """
        labels = examples.labels[index]
        prepare = source.packed if isinstance(source, Looks) and not self.extras else source.prepare
        if not self.crops:
            images = self._plain(source, read(examples, index)[0], generator, prepare)
        if not (self.crops or self.extras):
            return Batch((images,), labels)
        draw = torch.randint(2**62, (3,), generator=generator).tolist()
        if self.crops:
            images = prepare(self._cropped(source, examples.inputs, index, _seeds(index, draw[0])))
        if "erasing" in self.extras:
            images = _erased(images, _seeds(index, draw[1]))
        if self.extras & {"mixup", "cutmix"}:
            return self._mixed(images, labels, source.num_classes, draw[2])
        return Batch((images,), labels)

    def _plain(self, source: ImageSource, inputs: Tensor, generator: torch.Generator, prepare: Prepare) -> Any:
        """Prepare images, and let their source change them; ours moves pixels, which is faster while they are bytes."""
        if self.base == "none":
            return prepare(inputs)
        if isinstance(source, Looks) and inputs.shape[-1] == source.image_size:
            return prepare(source.augment(inputs, generator))
        return source.augment(source.prepare(inputs), generator)

    def _cropped(
        self, source: ImageSource, inputs: Any, index: Int[Tensor, " b"], seeds: list[int]
    ) -> UInt8[Tensor, "b c h w"]:
        transform = _transform(self.base, source.image_size, isinstance(source, Looks) and source.mirror)

        def change(image: Any, row: int) -> Tensor:
            with _seeded(seeds[row]):
                changed: Tensor = transform(image)
            return changed

        if isinstance(inputs, LazyImages):
            return inputs.changed(index, change)
        return torch.stack([change(image, row) for row, image in enumerate(inputs[index])])

    def _mixed(self, images: Float[Tensor, "b c h w"], labels: Int[Tensor, " b"], classes: int, seed: int) -> Batch:
        """Mix each image with its neighbour in the batch."""
        from torchvision.transforms import v2

        ways: list[Callable[..., Any]] = []
        if "mixup" in self.extras:
            ways.append(v2.MixUp(alpha=self.alpha, num_classes=classes))
        if "cutmix" in self.extras:
            ways.append(v2.CutMix(alpha=_CUTMIX, num_classes=classes))
        with _seeded(seed):
            mixed, shares = ways[int(torch.randint(len(ways), ()))](images, labels)
        return Batch((mixed,), shares)


DEFAULT = Augmentation()
"""That of the source."""


def read(examples: Examples, index: Int[Tensor, " b"]) -> tuple[UInt8[Tensor, "b c h w"], Int[Tensor, " b"]]:
    """Read some examples; the label of an image that cannot be read is -100."""
    labels = examples.labels[index]
    if isinstance(examples.inputs, Tensor):
        return examples.inputs[index], labels
    inputs, good = examples.inputs.read(index)
    return inputs, labels.where(good, IGNORED)


def _transform(base: str, size: int, mirror: bool) -> Callable[[Any], Tensor]:
    """Make the transform of an image, PIL's or bytes (c, h, w), to bytes (c, size, size)."""
    from torchvision.transforms import v2

    class _Crop(v2.RandomResizedCrop):  # type: ignore[misc]  # torchvision has no types
        """Of bytes it is copied first: torch resizes bytes in a third of the time where channels are last in memory."""

        def forward(self, image: Any) -> Any:
            return self.transform(image, self.make_params([image]))  # without the search for images in a tree

        def transform(self, image: Any, params: dict[str, Any]) -> Any:
            if isinstance(image, Tensor):
                top, left, height, width = (params[name] for name in ("top", "left", "height", "width"))
                cut = image[:, top : top + height, left : left + width].permute(1, 2, 0).contiguous()
                return v2.functional.resize(cut.permute(2, 0, 1), self.size, self.interpolation, antialias=True)
            return super().transform(image, params)

    steps: list[Any] = [_Crop(size, antialias=True)]
    steps += [v2.RandomHorizontalFlip()] if mirror else []
    if base != "crop":  # their changes of PIL's images are faster
        steps += [v2.ToPILImage(), v2.RandAugment() if base == "rand" else v2.TrivialAugmentWide()]
    return v2.Compose([*steps, v2.PILToTensor()])


def _erased(images: Float[Tensor, "b c h w"], seeds: list[int]) -> Float[Tensor, "b c h w"]:
    from torchvision.transforms import v2

    erase, erased = v2.RandomErasing(p=_ERASED), []
    for image, seed in zip(images, seeds, strict=True):
        with _seeded(seed):
            erased.append(erase(image))
    return torch.stack(erased)


def _seeds(index: Int[Tensor, " b"], word: int) -> list[int]:
    """Give a seed for each image, from its number and a draw of the batch."""
    return (mix(index.numpy().astype(np.uint64), word) >> np.uint64(1)).tolist()


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed torch's global generator of the CPU, and restore it; accelerators are left alone."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield
