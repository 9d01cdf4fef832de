"""Wrapper of timm models (CNNs and others) with the interface of the zoo's models; hybrids of CNN and transformer."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import timm
import torch
from jaxtyping import Float
from timm.models import group_parameters
from timm.models.resnet import BasicBlock, ResNet, downsample_conv
from torch import Tensor, nn

from zoo.core import (
    POOLED,
    ConfigError,
    Explorable,
    Model,
    Tokens,
    check_fit,
    check_input_keywords,
    configured,
    head,
    init_weights,
    resolve_indices,
)
from zoo.plugins.shared.images.patch_embed import PatchConfig, Size, check_images, pair
from zoo.plugins.vision.timm_methods.feature_maps import FeatureMaps
from zoo.plugins.vision.timm_methods.methods import TimmMethods
from zoo.plugins.vision.timm_methods.wrapped import group_matcher, net_features, points
from zoo.plugins.vision.tokens import ConvStem


@dataclass(frozen=True, kw_only=True)
class HybridConfig(PatchConfig):
    """Sizes and options of `HybridTransformer`; `patch_size` are points of the map along each side of a patch.

    Args:
        layers: residual blocks of each stage of the network.
        channels: of each stage.
        strides: of each stage: 2 halves the map.
    """

    layers: Sequence[int]
    channels: Sequence[int]
    strides: Sequence[int]


class HybridTransformer(TimmMethods, Model):
    """A small residual network whose feature map is cut into patches for an encoder, arXiv:2010.11929 sec. 3.1.

    Args:
        config: its fields are the keywords, see `HybridConfig` and `PatchConfig`.

    Raises:
        ConfigError: If the feature map is not a multiple of the patch, or the attention does not fit it.
    """

    first_conv = "stem.trunk.conv1"

    @configured(HybridConfig)
    def __init__(self, config: HybridConfig) -> None:
        size, channels, reduction = config.image_size, config.channels, math.prod(config.strides)
        if any(side % (reduction * config.patch_size) for side in pair(size)):
            raise ConfigError(f"image_size={size} is not a multiple of {reduction} x patch_size={config.patch_size}")
        on_map = replace(config, image_size=[side // reduction for side in pair(size)], in_chans=channels[-1])
        patches, encoder = on_map.stem(), on_map.encoder()
        check_fit(encoder, on_map.tokens())
        init_weights(patches)
        init_weights(encoder)
        trunk = small_net(config.layers, channels, config.strides, config.in_chans, num_classes=0)
        stem = ConvStem(trunk, patches, config.in_chans)
        super().__init__(stem, encoder, head(config.task, config.dim, config.num_classes, pool="mean"))
        self.image_size, self.reduction = pair(size), reduction * config.patch_size


def small_net(
    layers: Sequence[int],
    channels: Sequence[int],
    strides: Sequence[int],
    in_chans: int,
    num_classes: int,
    stem: int = 16,
) -> ResNet:
    """Make timm's ResNet for small images: up to four stages of basic blocks behind a 3x3 stem of stride 1."""
    if not (len(layers) == len(channels) == len(strides) <= 4 and sum(layers) >= 1):
        raise ConfigError(
            f"layers={list(layers)}, channels={list(channels)}, strides={list(strides)}: one each for up to four stages"
        )
    # timm's own constructor starts from 64 channels and a stem of stride 4: its stem and stages are replaced
    net: Any = ResNet(BasicBlock, (1, 1), num_classes, in_chans, channels=(stem, channels[-1]))  # type: ignore[arg-type]
    net.conv1 = nn.Conv2d(in_chans, stem, 3, padding=1, bias=False)
    net.bn1 = nn.BatchNorm2d(stem)
    net.maxpool = nn.Identity()
    inplanes = stem
    for stage in range(4):
        blocks = _stage(inplanes, channels[stage], layers[stage], strides[stage]) if stage < len(layers) else []
        net.add_module(f"layer{stage + 1}", nn.Sequential(*blocks))  # timm's forward walks through four
        inplanes = channels[min(stage, len(channels) - 1)]
    reductions = [math.prod(strides[: stage + 1]) for stage in range(len(layers))]
    maps = zip(channels, reductions, strict=True)
    net.feature_info = [
        {"num_chs": stem, "reduction": 1, "module": "act1"},
        *({"num_chs": c, "reduction": r, "module": f"layer{i}"} for i, (c, r) in enumerate(maps, start=1)),
    ]
    net.init_weights()
    return net


def _stage(inplanes: int, planes: int, count: int, stride: int) -> list[nn.Module]:
    changes = stride != 1 or inplanes != planes
    shortcut = downsample_conv(inplanes, planes, kernel_size=1, stride=stride) if changes else None
    first = BasicBlock(inplanes, planes, stride=stride, downsample=shortcut)
    return [first, *(BasicBlock(planes, planes) for _ in range(count - 1))]


class TimmModel(Explorable, nn.Module):
    """Give a timm network the surface of the zoo's models; its own head answers the tasks `classify` and `multi-label`.

    Args:
        net: the network.
        task: `classify`, `multi-label`, `tag` (a label for each point of the last map) or `features`.
        num_classes: labels; 0 for features.
        in_chans: channels of the image.
    """

    spec: Any = None

    def __init__(self, net: Any, task: str, num_classes: int, in_chans: int) -> None:
        super().__init__()
        self.net: Any = net
        self.in_chans = in_chans
        if task not in POOLED:
            self.net.reset_classifier(0)
        prefix = getattr(net, "num_prefix_tokens", 0)
        self.head: Any = None if task in POOLED else head(task, net.num_features, num_classes, prefix=prefix)

    def forward(self, images: Any = None, **others: Any) -> Tensor:
        """Give the answer of the model's task for images (b, c, h, w)."""
        check_input_keywords(others, ["images"])
        self._check(images)
        return self.net(images) if self.head is None else self.head(Tokens(self.forward_features(images)))

    def encode(self, images: Tensor) -> Tokens:
        """Give the last feature map as a decoder reads it, point by point, row after row."""
        return Tokens(self.forward_features(images))

    def input_names(self) -> list[str]:
        """Name the inputs."""
        return ["images"]

    def forward_features(self, images: Tensor) -> Float[Tensor, "b n d"]:
        """Give the last feature map, point by point."""
        self._check(images)
        return self._vectors(self.net.forward_features(images))

    def pooled_features(self, images: Tensor) -> Float[Tensor, "b d"]:
        """Give one vector for each image: what timm's classifier reads; the mean of the map where the head is ours."""
        if self.head is not None:
            return self.forward_features(images).mean(1)
        self._check(images)
        return self.net.forward_head(self.net.forward_features(images), pre_logits=True)

    def forward_intermediates(
        self,
        images: Tensor,
        indices: int | Sequence[int] | None = None,
        *,
        output_fmt: str = "NLC",
        intermediates_only: bool = False,
    ) -> Any:
        """Give the last feature map and those of the stages.

        Args:
            images: (b, c, h, w).
            indices: which stages, as in `Model`.
            output_fmt: `NLC` for vectors, point by point; `NCHW` for maps, and the last as the network gives it.
            intermediates_only: leave out the last.

        Raises:
            ConfigError: If a stage of that index or a format does not exist.
        """
        self._check(images)
        last, states = net_features(self.net, images, output_fmt)
        chosen = [states[i] for i in resolve_indices(indices, len(states))]
        if output_fmt == "NLC":
            last, chosen = self._vectors(last), [state.flatten(2).mT for state in chosen]
        return chosen if intermediates_only else (last, chosen)

    def forward_head(self, x: Tensor, pre_logits: bool = False) -> Tensor:
        """Give the answer for the vectors of `forward_features`, or for the network's own last map.

        Args:
            x: (b, n, d), or as the network's own `forward_features` gives it.
            pre_logits: give what the classifier reads.
        """
        if self.head is not None:
            vectors = self._vectors(x)
            return vectors if pre_logits else self.head(Tokens(vectors))
        return self.net.forward_head(points(self.net, x), pre_logits=pre_logits)

    def get_classifier(self) -> nn.Module:
        """Give the last layer: that of the labels, or the identity without labels."""
        found: nn.Module = self.net.get_classifier() if self.head is None else getattr(self.head, "linear", self.head)
        return found

    def set_grad_checkpointing(self, enable: bool = True) -> None:
        """Let stages keep only their inputs for the backward pass.

        Raises:
            ConfigError: If timm's network cannot.
        """
        try:
            self.net.set_grad_checkpointing(enable)
        except (AssertionError, AttributeError) as error:
            raise ConfigError(f"timm cannot compute {type(self.net).__name__} again: {error}") from error

    def group_matcher(self, coarse: bool = False) -> Any:
        """Give regular expressions of parameters from stem to head, for `timm.models.group_parameters`."""
        return group_matcher(self.net, coarse)

    def feature_maps(self, out_indices: int | Sequence[int] | None = None) -> FeatureMaps:
        """Give a backbone of feature maps that is made of this model; see `FeatureMaps`."""
        return FeatureMaps(self, out_indices)

    def keep_features(self, indices: Sequence[int]) -> None:
        """Leave out the classifier, and what lies behind the last of these stages."""
        self.reset_classifier(0)
        if hasattr(self.net, "prune_intermediate_layers"):
            self.net.prune_intermediate_layers(list(indices), prune_norm=True, prune_head=True)

    @property
    def feature_info(self) -> list[dict[str, Any]]:
        """Channels, reduction and module of each feature map."""
        every = self.net.feature_info
        return [dict(each, module=f"net.{each['module']}") for each in getattr(every, "info", every)]

    @property
    def global_pool(self) -> str:
        """How the classifier makes one vector of many, by timm's name."""
        found: str = getattr(self.net, "global_pool", "") if self.head is None else ""
        return found if isinstance(found, str) else getattr(found, "pool_type", "")

    @property
    def pretrained_cfg(self) -> dict[str, Any]:
        """What timm says of the weights: how images are prepared, and where the first and the last layer are."""
        found: dict[str, Any] = getattr(self.net, "pretrained_cfg", None) or {}
        return found

    @property
    def default_cfg(self) -> dict[str, Any]:
        """See `pretrained_cfg`."""
        return self.pretrained_cfg

    @torch.no_grad()
    def attention_maps(self, images: Tensor) -> list[Float[Tensor, "b h q k"]]:
        """Give the attention weights of each layer that has any; a CNN has none, so its list is empty."""
        maps: list[Tensor] = []
        parts = [part for part in self.net.modules() if hasattr(part, "fused_attn") and hasattr(part, "attn_drop")]
        fused = [part.fused_attn for part in parts]
        hooks = [part.attn_drop.register_forward_pre_hook(lambda _, args: maps.append(args[0])) for part in parts]
        try:
            for part in parts:
                part.fused_attn = False
            self(images)
        finally:
            for part, was in zip(parts, fused, strict=True):
                part.fused_attn = was
            for hook in hooks:
                hook.remove()
        return maps

    def reset_classifier(self, num_classes: int, global_pool: str | None = None) -> None:
        """Replace the classifier by a fresh one.

        Args:
            num_classes: labels; 0 for none.
            global_pool: another pooling of the network's own head, by timm's name.
        """
        if self.head is not None:
            self.head.reset(num_classes)
            return
        self.net.reset_classifier(num_classes, *([] if global_pool is None else [global_pool]))

    def parameter_depths(self) -> dict[str, int]:
        """Give the depth of each parameter as timm orders its layers: 0 for the first, the last for the classifier."""
        groups = group_parameters(self.net, self.net.group_matcher(coarse=False), reverse=True)
        return {f"net.{name}": depth for name, depth in groups.items()}

    @property
    def num_features(self) -> int:
        """Channels of the vectors before the head."""
        return self.net.num_features

    @property
    def num_classes(self) -> int:
        """Labels of the classifier; 0 without one."""
        return self.net.num_classes if self.head is None else self.head.num_classes

    def _check(self, images: Tensor) -> None:
        check_images(images, self.in_chans, next(self.parameters()).dtype)

    def _vectors(self, x: Tensor) -> Tensor:
        channels_last = x.ndim == 4 and getattr(self.net, "output_fmt", "NCHW") == "NHWC"
        return x if x.ndim == 3 else x.flatten(1, 2) if channels_last else x.flatten(2).mT


def timm_model(
    *,
    architecture: str,
    task: str = "classify",
    num_classes: int = 1000,
    in_chans: int = 3,
    image_size: Size = None,
    tag: str = "",
    **options: Any,
) -> TimmModel:
    """Make a network of timm's registry.

    Args:
        architecture: timm's name.
        task: `classify`, `multi-label`, `tag` or `features`.
        num_classes: labels; 0 for features.
        in_chans: channels of the image.
        image_size: pixels, one number or (height, width); only networks of a fixed size need it.
        tag: of the weights, which decides the preprocessing; the network is the same.
        options: of timm's model, `drop_rate` and `drop_path_rate` among them.

    Raises:
        ConfigError: If timm cannot make it.
    """
    cfg = timm.get_pretrained_cfg(architecture)
    if image_size is not None and cfg is not None and cfg.fixed_input_size:
        options["img_size"] = pair(image_size)
    named = f"{architecture}.{tag}" if tag else architecture
    try:
        net = timm.create_model(named, num_classes=num_classes, in_chans=in_chans, **options)
    except (AssertionError, ValueError, RuntimeError) as error:
        raise ConfigError(f"timm cannot make {architecture!r} of image_size={image_size}: {error}") from error
    return TimmModel(net, task, num_classes, in_chans)


def small_resnet(
    *,
    layers: Sequence[int],
    channels: Sequence[int],
    strides: Sequence[int],
    stem: int = 16,
    task: str = "classify",
    num_classes: int = 10,
    in_chans: int = 3,
    image_size: Size = 24,
) -> TimmModel:
    """Make a residual network for small images.

    Args:
        layers: basic blocks of each stage.
        channels: of each stage.
        strides: of each stage: 2 halves the map.
        stem: channels of the first convolution.
        task: `classify`, `multi-label`, `tag` or `features`.
        num_classes: labels; 0 for features.
        in_chans: channels of the image.
        image_size: pixels; the network itself reads any.
    """
    return TimmModel(small_net(layers, channels, strides, in_chans, num_classes, stem), task, num_classes, in_chans)
