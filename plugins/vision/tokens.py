"""From images to tokens: convolutional stems, and image preprocessing.

Axes: b images, c channels, h and w pixels.
"""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core import ConfigError, Tokens
from zoo.plugins.shared.images.patch_embed import PatchStem, check_images, pair
from zoo.plugins.vision.read_image import constant_note, is_constant, name_of, pixels_of, read_image
from zoo.plugins.vision.sources import TIMM
from zoo.registry import require
from zoo.weights import read_config


class ConvStem(nn.Module):
    """Cut the feature map of a small CNN into patches, as the hybrids of arXiv:2010.11929 sec. 3.1.

    Args:
        trunk: a timm network; its `forward_features` gives the map.
        patches: cuts the map.
        in_chans: channels of the image.
    """

    def __init__(self, trunk: nn.Module, patches: PatchStem, in_chans: int) -> None:
        super().__init__()
        self.trunk: Any = trunk
        self.patches = patches
        self.in_chans = in_chans

    def forward(self, images: Tensor) -> Tokens:
        """Make tokens of images (b, c, h, w), from the trunk's feature map.

        Raises:
            InputError: If rank, channels, size or dtype do not fit.
        """
        check_images(images, self.in_chans, self.patches.project.weight.dtype)
        return self.patches(self.trunk.forward_features(images))


def example(config: Mapping[str, Any], batch_size: int, seed: int) -> tuple[Float[Tensor, "b c h w"]]:
    """Draw images of the model's size from a normal distribution."""
    height, width = pair(config.get("image_size", 224))
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(batch_size, config.get("in_chans", 3), height, width, generator=generator),)


def preprocess(config: Mapping[str, Any], train: bool) -> "Preprocess":
    """Make the transform of the vision transformers: bicubic, centre crop of 0.9, values to -1 … 1 (arXiv:2106.10270).

    A repository that was named itself says what its model was trained with.

    Args:
        config: of the model; small images, below 64 pixels, are not cropped.
        train: whether to augment: random resized crop, flip, colour jitter.
    """
    return Preprocess(config.get("in_chans", 3), train, **transformed(config) | _told(config))


def _told(config: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a repository that was named itself tells of the preparation of images."""
    named = "repository" in config and "tag" not in config
    return read_config(config["repository"]).get("pretrained_cfg") or {} if named else {}


def transformed(config: Mapping[str, Any]) -> dict[str, Any]:
    """Say how images of a vision transformer are prepared, in the words of timm's `pretrained_cfg`."""
    size = pair(config.get("image_size", 224))
    channels = config.get("in_chans", 3)
    return {
        "input_size": [channels, *size],
        "mean": [0.5] * channels,
        "std": [0.5] * channels,
        "crop_pct": 0.9 if min(size) >= 64 else 1.0,
        "interpolation": "bicubic",
    }


def timm_preprocess(config: Mapping[str, Any], train: bool) -> "Preprocess":
    """Make the transform that timm publishes with an architecture's weights: those of the tag, or the default ones.

    A repository that was named itself says what its network was trained with.
    """
    import timm
    from timm.data import resolve_data_config

    tag = f".{config['tag']}" if "tag" in config else ""
    cfg = timm.get_pretrained_cfg(config["architecture"] + tag)
    resolved = resolve_data_config(pretrained_cfg=(cfg.to_dict() if cfg else {}) | _told(config))
    return Preprocess(resolved["input_size"][0], train, **resolved)


class Preprocess:
    """Turn an image into (c, h, w), and a list of them into a batch; `read_image` says what is read, and how.

    Args:
        channels: 1 for grey, 3 for colour.
        train: whether to augment.
        options: of `timm.data.create_transform`.
    """

    reads_files = True
    input_kind = "pictures"
    numbers = "uint8"
    """Type of arrays of numbers, (h, w[, c]), where `zoo serve` gets them as JSON."""

    def __init__(self, channels: int, train: bool, **options: Any) -> None:
        require("preprocessing images", (TIMM,))
        from timm.data import create_transform

        known = ("input_size", "mean", "std", "crop_pct", "interpolation")
        options = {"interpolation": "bicubic"} | {k: v for k, v in options.items() if k in known}
        mode = {1: "L", 3: "RGB", 4: "RGBA"}.get(channels)
        if mode is None:
            raise ConfigError(f"in_chans={channels}: an image file has 1, 3 or 4 channels, prepare others yourself")
        self.mode = mode
        self.options = options
        self.transform: Callable[[Any], Tensor] = create_transform(is_training=train, **options)

    def __call__(self, image: Any) -> Tensor:
        """Give a float tensor in the model's range; warn of images that are constant after reading.

        Args:
            image: a path, a PIL image, an array (h, w[, c]), a tensor (c, h, w), or a list of these.

        Raises:
            InputError: If this is no image.
        """
        several = isinstance(image, list | tuple)
        given = list(image) if several else [image]
        read = [read_image(one, self.mode) for one in given]
        constant = [name_of(one, place) for place, one in enumerate(given) if is_constant(read[place])]
        if constant:
            warnings.warn(constant_note(constant, len(given)), stacklevel=2)
        prepared = [self.transform(one) for one in read]
        return torch.stack(prepared) if several else prepared[0]

    @staticmethod
    def amount(image: Any) -> tuple[int, str]:
        """Count the pixels of an image file, as its header tells: none of them is decoded.

        Raises:
            InputError: If this is no image file.
        """
        return pixels_of(image), "pixels"

    def portable(self) -> dict[str, Any]:
        """Describe the steps outside of training as JSON values, for exported models."""
        return {"kind": "image", "mode": self.mode, "crop_pct": 1.0, **self.options}

    def __repr__(self) -> str:
        return f"Preprocess({self.mode}, {self.transform})"
