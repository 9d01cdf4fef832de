"""`TimmMethods`: methods of timm's models, for models of patches that are made of parts of the zoo.

Axes: b images, n tokens, d channels, h and w points of a feature map.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from zoo.core import ConfigError, Tokens, resolve_indices
from zoo.plugins.vision.timm_methods.feature_maps import FeatureMaps
from zoo.plugins.vision.tokens import transformed

POOLS = {"first": "token", "mean": "avg", "max": "max"}
"""Names of pooling here and in timm."""


class TimmMethods:
    """Methods of timm, mixed into a `Model` of images.

    `forward_features` and `forward_intermediates` without `output_fmt` are the zoo's: vectors, class token included.
    """

    stem: Any
    encoder: Any
    head: Any
    spec: Any
    num_classes: int
    checkpointed: Any
    image_size: tuple[int, int]
    """Pixels that the positions were made for."""
    reduction: int
    """Pixels along each side of a token."""
    num_prefix_tokens: int = 0
    """Tokens before those of the patches."""
    first_conv: str = "stem.project"
    """Name of the layer that reads the pixels."""

    @property
    def feature_info(self) -> list[dict[str, Any]]:
        """Channels, reduction and module of the map behind each block."""
        depth = range(len(self.encoder.blocks))
        return [{"num_chs": self.head.dim, "reduction": self.reduction, "module": f"encoder.blocks.{i}"} for i in depth]

    @property
    def global_pool(self) -> str:
        """How the classifier makes one vector of many, as timm names it: `token`, `avg`, `max`, or none."""
        return POOLS.get(getattr(self.head, "pool", ""), "")

    @property
    def pretrained_cfg(self) -> dict[str, Any]:
        """How images are prepared, and where the first and the last layer are, as timm's data functions read it."""
        weights = getattr(self.spec, "weights", None) or {}
        tag, where = next(iter(weights.items()), ("", ""))
        given = {"image_size": self.image_size, "in_chans": self.stem.in_chans}
        prepared = transformed(given)
        return {
            **{key: tuple(value) if isinstance(value, list) else value for key, value in prepared.items()},
            "num_classes": self.num_classes,
            "pool_size": None,
            "fixed_input_size": False,
            "first_conv": self.first_conv,
            "classifier": "head.linear",
            "tag": tag,
            "hf_hub_id": where.removeprefix("hf-hub:") or None,
            "architecture": getattr(self.spec, "name", type(self).__name__),
        }

    @property
    def default_cfg(self) -> dict[str, Any]:
        """See `pretrained_cfg`."""
        return self.pretrained_cfg

    def forward_head(self, x: Float[Tensor, "b n d"], pre_logits: bool = False) -> Tensor:
        """Give the answer for what `forward_features` gave.

        Args:
            x: vectors.
            pre_logits: give what the classifier reads: the pooled vector of `classify`, the vectors of other tasks.
        """
        if not pre_logits:
            return self.head(Tokens(x))
        return self.head.pooled(Tokens(x)) if hasattr(self.head, "pooled") else x

    def forward_intermediates(
        self,
        *images: Tensor,
        indices: int | Sequence[int] | None = None,
        norm: bool = False,
        output_fmt: str = "NLC",
        intermediates_only: bool = False,
    ) -> Any:
        """Give the vectors before the head, and those after each block.

        Args:
            images: one batch, (b, c, h, w).
            indices: which blocks; None for all, n for the last n, or a list that may count from the end.
            norm: with `NCHW`, whether the last norm is applied to each map.
            output_fmt: `NLC` for vectors, class token included, the last normed; `NCHW` for maps without class token,
                as timm gives them.
            intermediates_only: leave out the vectors before the head.

        Raises:
            ConfigError: If a block of that index or a format does not exist.
        """
        if output_fmt not in ("NLC", "NCHW"):
            raise ConfigError(f"output_fmt={output_fmt!r} is not one of NLC, NCHW")
        with self.checkpointed():
            states = list(self._states(*images))
        last = self.encoder.norm(states[-1])
        if output_fmt == "NLC":
            found = [*states[:-1], last]
        else:
            grid = [side // self.reduction for side in images[0].shape[2:]]
            normed = [self.encoder.norm(x) for x in states] if norm else states
            found = [x[:, self.num_prefix_tokens :].mT.unflatten(2, grid).contiguous() for x in normed]
        chosen = [found[i] for i in resolve_indices(indices, len(found))]
        return chosen if intermediates_only else (last, chosen)

    def reset_classifier(self, num_classes: int, global_pool: str | None = None) -> None:
        """Replace the classifier by a fresh one, 0 for none.

        Args:
            num_classes: labels.
            global_pool: the model's own, or None.

        Raises:
            ConfigError: If it is another: what the vectors hold was trained for one.
        """
        if global_pool is not None and global_pool != self.global_pool:
            pool = {there: here for here, there in POOLS.items()}.get(global_pool, "mean")
            raise ConfigError(
                f"global_pool={global_pool!r} of a model whose pool is {self.global_pool!r}: make it with pool={pool!r}"
            )
        self.head.reset(num_classes)

    def group_matcher(self, coarse: bool = False) -> dict[str, Any]:
        """Give regular expressions of parameters from stem to head, for `timm.models.group_parameters`.

        Args:
            coarse: the same, as every block is a group of its own.
        """
        return {"stem": r"^stem\.", "blocks": [(r"^encoder\.blocks\.(\d+)", None), (r"^encoder\.norm", (99_999,))]}

    def no_weight_decay(self) -> set[str]:
        """Name the parameters that timm's optimizers do not decay: class token and positions."""
        return {"stem.class_token", "stem.position.table"}

    def feature_maps(self, out_indices: int | Sequence[int] | None = None) -> FeatureMaps:
        """Give a backbone of feature maps that is made of this model; see `FeatureMaps`."""
        return FeatureMaps(self, out_indices)

    def keep_features(self, indices: Sequence[int]) -> None:
        """Leave out the classifier, the last norm, and the blocks behind the last of these."""
        blocks = self.encoder.blocks
        self.encoder.blocks = nn.ModuleList(list(blocks)[: max(indices) + 1])
        self.encoder.norm = nn.Identity()
        if hasattr(self.head, "linear"):
            self.head.reset(0)

    def _states(self, images: Tensor) -> Iterator[Float[Tensor, "b n d"]]:
        """Give the vectors after each block, before the last norm."""
        tokens = self.stem(images)
        for block in self.encoder.blocks:
            tokens = block(tokens)
            yield tokens.x
