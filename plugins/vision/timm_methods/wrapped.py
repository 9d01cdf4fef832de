"""Calls of timm's networks whose shapes and names differ from the zoo's: feature maps, heads and groups."""

import re
from typing import Any

from torch import Tensor

from zoo.core import ConfigError


def net_features(net: Any, images: Tensor, output_fmt: str) -> tuple[Tensor, list[Tensor]]:
    """Give the last feature map of a network and those of its stages, in timm's own format or channels first.

    Raises:
        ConfigError: If the format does not exist, or the network has no feature maps.
    """
    if output_fmt not in ("NLC", "NCHW"):
        raise ConfigError(f"output_fmt={output_fmt!r} is not one of NLC, NCHW")
    if not hasattr(net, "forward_intermediates"):
        raise ConfigError(f"timm's {type(net).__name__} gives no intermediate states")
    last, states = net.forward_intermediates(images, output_fmt="NCHW")
    return last, list(states)


def points(net: Any, x: Tensor) -> Tensor:
    """Give vectors as a network's head reads them: as a map of one column where it pools a map."""
    reads_vectors = hasattr(net, "num_prefix_tokens") or getattr(getattr(net, "patch_embed", None), "flatten", False)
    if x.ndim != 3 or reads_vectors:
        return x
    return x[:, :, None] if getattr(net, "output_fmt", "NCHW") == "NHWC" else x.mT[..., None]


def group_matcher(net: Any, coarse: bool) -> Any:
    """Give the groups of a network's parameters, behind the name `net.` that it has in a model."""
    found = net.group_matcher(coarse=coarse)
    if callable(found):
        return lambda name: found(name.removeprefix("net."))
    return {name: _behind_net(matcher) for name, matcher in found.items()}


def _behind_net(matcher: Any) -> Any:
    if matcher is None or isinstance(matcher, str):
        inside = re.sub(r"(^|[|(])\^", r"\1", matcher or "")
        return matcher and rf"^net\.(?:{inside})"
    return [(_behind_net(expression), suffix) for expression, suffix in matcher]
