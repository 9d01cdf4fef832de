"""The vision transformer."""

from collections.abc import Callable

import torch
from torch import nn

from zoo.core import (
    Attention,
    AttentionLayer,
    ConfigError,
    Encoder,
    Full,
    Model,
    head,
    init_weights,
    refuse_unfit,
    with_position,
)
from zoo.plugins.shared.images.patch_embed import PatchStem, Size, pair


class VisionTransformer(Model):
    """Patches, a pre-norm encoder, and a head on the class token or the mean: arXiv:2010.11929.

    Args:
        image_size: pixels, one number or (height, width); other sizes are read too.
        patch_size: pixels along each side of a patch.
        in_chans: channels of the image.
        dim: channels of a token.
        depth: blocks.
        num_heads: heads.
        mlp_dim: channels inside each MLP.
        num_classes: labels; 0 for features.
        task: `classify`, `tag` (a label for each patch) or `features`.
        pool: `first` (class token) or `mean` (no class token).
        position: `learned` or `sinusoidal` (on the grid, added to the vectors), `none`; or inside attention, where a
            token's position is its place in the row-major line behind the class token (the 1-D order of app. D.4):
            `rotary`, `alibi`, `relative` (a table), `transformer-xl`, `shaw`.
        attention: makes an attention from (dim, num_heads).
        dropout: probability in [0, 1).
        drop_path: probability in [0, 1) that the last block is skipped in training.
        eps: of the layer norms; 1e-12 in Hugging Face's checkpoints.

    Raises:
        ConfigError: If the image is not a multiple of the patch, or the class token could read no patch.
    """

    def __init__(
        self,
        *,
        image_size: Size = 224,
        patch_size: int = 16,
        in_chans: int = 3,
        dim: int = 384,
        depth: int = 12,
        num_heads: int = 6,
        mlp_dim: int = 1536,
        num_classes: int = 1000,
        task: str = "classify",
        pool: str = "first",
        position: str = "learned",
        attention: Callable[[int, int], nn.Module] = Attention,
        dropout: float = 0.0,
        drop_path: float = 0.0,
        eps: float = 1e-6,
    ) -> None:
        first = pool == "first"
        stem = PatchStem(image_size, patch_size, in_chans, dim, position, class_token=first, dropout=dropout)
        height, width = pair(image_size)
        tokens = int(first) + (height // patch_size) * (width // patch_size)
        attention = with_position(attention, position, tokens)
        super().__init__(
            stem,
            Encoder(dim, depth, num_heads, mlp_dim, attention=attention, dropout=dropout, drop_path=drop_path, eps=eps),
            head(task, dim, num_classes, pool=pool, prefix=int(first)),
        )
        init_weights(self)
        refuse_unfit(self, tokens)
        if first and task == "classify":
            refuse_blind_class_token(self, tokens)


def refuse_blind_class_token(model: Model, tokens: int) -> None:
    """Refuse patterns that let the first token read nothing but itself, since the label is read from it.

    Raises:
        ConfigError: If an attention of the model has one.
    """
    first, others = torch.zeros(1, 1, dtype=torch.long, device="cpu"), torch.arange(1, tokens, device="cpu")
    patterns = {part.pattern for part in model.modules() if isinstance(part, AttentionLayer)}
    for pattern in patterns - {Full()}:
        if not pattern.mask(first, others).any():
            raise ConfigError(
                f"with attention={pattern} the class token, which stands first, reads no patch, and the label is read "
                "from it: pool='mean', or task='tag'"
            )
