"""`FeatureMaps`, a backbone that gives feature maps, as timm's models with `features_only=True`; and `FeatureInfo`.

Axes: b images, c channels of a map, h and w its points.
"""

from collections.abc import Sequence
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from zoo.core import ConfigError, resolve_indices


class FeatureInfo:
    """Channels, reductions and modules of feature maps, by the methods of timm's `FeatureInfo`.

    Args:
        every: of each map of the model: `num_chs`, `reduction` and `module`.
        out_indices: which of them are given.
    """

    def __init__(self, every: Sequence[dict[str, Any]], out_indices: Sequence[int]) -> None:
        self.info = [dict(each) for each in every]
        self.out_indices = tuple(out_indices)

    def get(self, key: str, idx: int | Sequence[int] | None = None) -> Any:
        """Give a value of the maps.

        Args:
            key: `num_chs`, `reduction` or `module`.
            idx: of which maps of the model; of those that are given if None.
        """
        if isinstance(idx, int):
            return self.info[idx][key]
        return [self.info[each][key] for each in (self.out_indices if idx is None else idx)]

    def channels(self, idx: int | Sequence[int] | None = None) -> Any:
        """Give the channels of the maps, or of one."""
        return self.get("num_chs", idx)

    def reduction(self, idx: int | Sequence[int] | None = None) -> Any:
        """Give the pixels along each side of a point of the maps, or of one."""
        return self.get("reduction", idx)

    def module_name(self, idx: int | Sequence[int] | None = None) -> Any:
        """Give the names of the modules behind which the maps are taken, or of one."""
        return self.get("module", idx)

    def get_dicts(self, keys: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Give what is known of each map, or some of it."""
        dicts = (self.info[each] for each in self.out_indices)
        return [{key: value for key, value in each.items() if keys is None or key in keys} for each in dicts]

    def __len__(self) -> int:
        return len(self.info)

    def __getitem__(self, idx: int) -> dict[str, Any]:
        return self.info[idx]


class FeatureMaps(nn.Module):
    """Give feature maps of a model of images; its classifier goes, and what lies behind the last map.

    Args:
        model: has `feature_info`, `forward_intermediates` and `keep_features`.
        out_indices: which maps; n for the last n. By default all of a pyramid, and the last 3 where all have one size.

    Raises:
        ConfigError: If a map of that index does not exist.
    """

    spec: Any = None

    def __init__(self, model: Any, out_indices: int | Sequence[int] | None = None) -> None:
        super().__init__()
        every = model.feature_info
        if out_indices is None:
            alike = len({each["reduction"] for each in every}) == 1
            out_indices = min(3, len(every)) if alike else list(range(len(every)))
        try:
            self.out_indices = resolve_indices(out_indices, len(every))
        except ConfigError as error:
            raise ConfigError(f"out_indices={out_indices}: the model has {len(every)} feature maps") from error
        self.feature_info = FeatureInfo(every, self.out_indices)
        model.keep_features(self.out_indices)
        self.model = model

    def forward(self, images: Any) -> list[Float[Tensor, "b _ _ _"]]:
        """Give the maps of images (b, c, h, w), channels first."""
        maps: list[Tensor] = self.model.forward_intermediates(
            images, indices=self.out_indices, output_fmt="NCHW", intermediates_only=True
        )
        return maps

    def set_grad_checkpointing(self, enable: bool = True) -> None:
        """Let blocks keep only their inputs for the backward pass."""
        self.model.set_grad_checkpointing(enable)
