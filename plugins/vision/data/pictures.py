"""Pictures that exist, split into parts: scikit-learn's digits, the user's arrays, and what folders share with them.

Pictures are bytes (count, channels, height, width); `prepare` makes them floats of mean 0 and deviation 1, `augment`
shifts and, where a mirror image means the same, flips them.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from zoo import DataError
from zoo.data import Reference, for_training, rank_in_class
from zoo.plugins.shared.images.digits import Split
from zoo.plugins.vision.data.archive import read_archive
from zoo.plugins.vision.data.arrays import ImageArrays
from zoo.plugins.vision.image_source import Examples

_DIGITS_SIZE = 24
"""Eight pixels are one patch of the small ViT: enlarged threefold, a digit is nine."""
_HELD_OUT = 0.15
_DRAWN: tuple[Split, ...] = ("validation", "test")


Moment = float | tuple[float, ...]
"""One number for all channels, or one for each."""


class ByteImages(NamedTuple):
    """Images as bytes, a quarter of the floats that they are unpacked to; see `zoo.data.Packed`."""

    values: Tensor
    """Bytes (count, channels, height, width)."""
    mean: Moment
    deviation: Moment

    def to(self, device: torch.device) -> "ByteImages":
        """Copy them to a device, from pinned memory in the background."""
        return self._replace(values=self.values.to(device, non_blocking=device.type == "cuda"))

    def unpacked(self) -> Tensor:
        """Give floats of mean 0 and deviation 1."""
        pixels = self.values.to(torch.float32, copy=True).div_(255)
        return pixels.sub_(_by_channel(self.mean, pixels)).div_(_by_channel(self.deviation, pixels))


@dataclass(frozen=True, kw_only=True)
class Looks:
    """Size, normalisation and augmentation, which all sources of pictures have."""

    name: str
    description: str
    num_classes: int
    channels: int
    image_size: int
    fingerprint: str
    limit: int | None = None
    reference: Reference | None = None
    known_notes: tuple[str, ...] = ()
    """What was found when the data were opened."""
    classes: tuple[str, ...] = ()
    mean: float = 0.5
    deviation: float = 0.25
    by_channel: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    """Mean and deviation of each channel, in place of the two numbers: those that a model was pretrained with."""
    shift: int = 1
    mirror: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """Tell what the user has to know, such as pictures that cannot be read."""
        return self.known_notes

    @property
    def preparation(self) -> dict[str, Any]:
        """Say what `prepare` does in the words of timm's `pretrained_cfg`."""
        return {
            "input_size": [self.channels, self.image_size, self.image_size],
            "mean": list(self.by_channel[0]) if self.by_channel else [self.mean] * self.channels,
            "std": list(self.by_channel[1]) if self.by_channel else [self.deviation] * self.channels,
            "crop_pct": 1.0,
        }

    def prepare(self, inputs: Tensor) -> Tensor:
        """Turn bytes into floats of mean 0 and deviation 1, at the size asked for."""
        pictures = self._bytes(inputs).unpacked()
        if pictures.shape[-1] == self.image_size:
            return pictures
        return functional.interpolate(pictures, size=(self.image_size,) * 2, mode="bilinear", antialias=True)

    def packed(self, inputs: Tensor) -> Tensor | ByteImages:
        """Leave bytes of the size asked for to be normalised where they are read; else see `prepare`."""
        fits = inputs.dtype == torch.uint8 and inputs.shape[-1] == self.image_size
        return self._bytes(inputs) if fits else self.prepare(inputs)

    def _bytes(self, inputs: Tensor) -> ByteImages:
        return ByteImages(inputs, *(self.by_channel or (self.mean, self.deviation)))

    def augment(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        """Shift each picture by a few pixels, edges repeated; mirror half of them where that is harmless."""
        pixels, reach = inputs.permute(0, 2, 3, 1), self.shift
        count, height, width, _ = pixels.shape
        offset = torch.randint(0, 2 * reach + 1, (2, count), generator=generator).tolist()
        flips = (torch.rand(count, generator=generator) < 0.5).tolist() if self.mirror else [False] * count
        larger = _extended(_extended(pixels, 1, reach), 2, reach)
        changed = torch.empty(pixels.shape, dtype=pixels.dtype)
        for row, (down, right, flip) in enumerate(zip(*offset, flips, strict=True)):  # whole rows, faster than an index
            shifted = larger[row, down : down + height, right : right + width]
            changed[row] = shifted.flip(1) if flip else shifted
        return changed.permute(0, 3, 1, 2)


@dataclass(frozen=True, kw_only=True)
class Pictures(Looks):
    """Hold pictures that exist, split once: for each class alike, 15 % validation, 15 % test, the rest the pool."""

    splits: dict[Split, Examples] = field(repr=False)

    def resized(self, image_size: int) -> "Pictures":
        """Enlarge or shrink the pictures."""
        return replace(self, image_size=image_size)

    def train(self, count: int, seed: int) -> Examples:
        """Draw from the pool, class by class in turn.

        Raises:
            DataError: If the pool holds fewer.
        """
        pool = self.splits["train"]
        if count > len(pool.labels):
            raise DataError(
                f"{count:,} training examples asked for, {self.name!r} has {len(pool.labels):,} besides "
                "validation and test"
            )
        order = _balanced_order(pool.labels.numpy(), seed)[:count]
        inputs = pool.inputs[order] if isinstance(pool.inputs, Tensor) else pool.inputs.take(order)
        return Examples(inputs, pool.labels[order])

    def validation(self) -> Examples:
        """Give the validation pictures."""
        return self.splits["validation"]

    def test(self) -> Examples:
        """Give the test pictures."""
        return self.splits["test"]


def open_digits(argument: str = "", seed: int = 0) -> Pictures:
    """Open scikit-learn's 1,797 digits, enlarged from 8 to 24 pixels."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    pictures = torch.from_numpy((bunch.images * (255 / 16)).round().astype(np.uint8))[:, None]
    enlarged = functional.interpolate(pictures, size=(_DIGITS_SIZE,) * 2, mode="bilinear")
    return _pictures(
        "digits",
        "`digits` are scikit-learn's 1,797 handwritten digits, 8 x 8 pixels enlarged to 24 x 24.",
        enlarged,
        torch.from_numpy(bunch.target.astype(np.int64)),
        seed,
    )


def open_npz(argument: str, seed: int = 0) -> Pictures:
    """Open a NumPy archive of pictures and labels; parts that it has stay as they are."""
    path = Path(argument).expanduser()
    return of_arrays(read_archive(path), f"npz:{path.name}", f"`{path.name}`", seed)


def of_arrays(arrays: ImageArrays, name: str, shown: str, seed: int) -> Pictures:
    """Make a source of arrays; parts that are not given are drawn from the training, class by class.

    Args:
        arrays: the pictures.
        name: of the data.
        shown: the name in sentences.
        seed: of the draw.
    """
    pictures, labels = (torch.cat(each) for each in zip(*arrays.parts.values(), strict=True))
    counts = {part: len(own) for part, (own, _) in arrays.parts.items()}
    drawn = [part for part in ("validation", "test") if part not in counts]
    how = f", {' and '.join(drawn)} drawn from train" if drawn and len(counts) > 1 else ""
    given = f"; {', '.join(f'{part} {count:,}' for part, count in counts.items())} as given{how}"
    described = (
        f"{shown} holds {len(labels):,} pictures of {len(arrays.classes)} classes, {arrays.understood}"
        f"{given if len(counts) > 1 else ''}."
    )
    source = _pictures(name, described, pictures, labels, seed, arrays.classes, counts)
    return replace(source, known_notes=arrays.notes)


def _by_channel(moment: Moment, pixels: Tensor) -> float | Tensor:
    return pixels.new_tensor(moment).reshape(-1, 1, 1) if isinstance(moment, tuple) else moment


def _extended(pixels: Tensor, dim: int, count: int) -> Tensor:
    """Repeat the edges along a dimension."""
    edges = pixels.narrow(dim, 0, 1), pixels.narrow(dim, -1, 1)
    return torch.cat([edges[0]] * count + [pixels] + [edges[1]] * count, dim)


def _pictures(
    name: str,
    description: str,
    pictures: Tensor,
    labels: Tensor,
    seed: int,
    classes: Sequence[str] = (),
    counts: Mapping[str, int] | None = None,
) -> Pictures:
    """Put pictures into parts: of the counts given, one part behind the other, else drawn."""
    splits = _given(labels.numpy(), counts or {"train": len(labels)}, seed, classes)
    sample = pictures[splits["train"][:5000]].float() / 255
    content = hashlib.blake2b(pictures.contiguous().numpy().tobytes() + labels.numpy().tobytes(), digest_size=8)
    further = "" if len(counts or ()) < 2 else "-" + "-".join(map(str, (counts or {}).values()))
    return Pictures(
        name=name,
        description=description,
        num_classes=len(classes) or int(labels.max()) + 1,
        channels=pictures.shape[1],
        image_size=pictures.shape[-1],
        fingerprint=f"{content.hexdigest()}-{seed}{further}",
        limit=len(splits["train"]),
        classes=tuple(classes),
        mean=float(sample.mean()),
        deviation=max(float(sample.std()), 1e-3),
        splits={split: Examples(pictures[index], labels[index]) for split, index in splits.items()},
    )


def _given(
    labels: NDArray[np.int64], counts: Mapping[str, int], seed: int, classes: Sequence[str]
) -> dict[Split, NDArray[np.int64]]:
    """Give the places of each part that is given, and draw the others from those of the training."""
    ends = dict(zip(counts, np.cumsum([*counts.values()]).tolist(), strict=True))
    places: dict[Any, NDArray[np.int64]] = {part: np.arange(end - counts[part], end) for part, end in ends.items()}
    missing: list[Split] = [part for part in _DRAWN if part not in places]
    pool = places["train"]
    drawn: Mapping[Any, Any] = _split(labels[pool], seed, classes, missing) if missing else {}
    return places | {part: pool[index] for part, index in drawn.items()}


def _split(
    labels: NDArray[np.int64], seed: int, classes: Sequence[str] = (), missing: Sequence[Split] = _DRAWN
) -> dict[Split, NDArray[np.int64]]:
    """Split each class alike; every part gets at least one of each.

    Raises:
        DataError: If there is one class, or a class is too small to be in all parts.
    """
    counts = np.bincount(labels)
    if len(counts) < 2 and for_training():
        raise DataError(f"the data have {len(counts)} class: give examples of at least 2")
    if counts.min() < len(missing) + 1 and for_training():
        small = int(counts.argmin())
        name = classes[small] if classes else str(small)
        raise DataError(f"class {name!r} has too few examples ({counts[small]}): {len(missing) + 1} are needed")
    order = _shuffled_by_class(labels, seed)
    held = np.maximum(1, (counts * _HELD_OUT).astype(int))[labels[order]]
    part = rank_in_class(labels[order]) // held
    found: dict[Split, NDArray[np.int64]] = {"train": order[part >= len(missing)]}
    return found | {name: order[part == place] for place, name in enumerate(missing)}


def _shuffled_by_class(labels: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).permutation(len(labels))


def _balanced_order(labels: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Order examples so that every beginning has its classes alike, as far as they reach."""
    order = np.random.default_rng(seed).permutation(len(labels))
    return order[np.argsort(rank_in_class(labels[order]), kind="stable")]
