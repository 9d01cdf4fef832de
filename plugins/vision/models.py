"""The vision transformer."""

from dataclasses import dataclass

import torch

from zoo.core import POOLED, AttentionLayer, ConfigError, Full, Model, check_fit, configured, head, init_weights
from zoo.plugins.shared.images.patch_embed import PatchConfig, Size, pair
from zoo.plugins.vision.timm_methods.methods import TimmMethods


@dataclass(frozen=True, kw_only=True)
class VisionTransformerConfig(PatchConfig):
    """Sizes and options of `VisionTransformer`.

    Args:
        pool: `first` (class token) or `mean` (no class token).
        dropout: probability in [0, 1).
        eps: of the layer norms; 1e-12 in Hugging Face's checkpoints.
    """

    image_size: Size = 224
    patch_size: int = 16
    dim: int = 384
    depth: int = 12
    num_heads: int = 6
    mlp_dim: int = 1536
    num_classes: int = 1000
    pool: str = "first"
    dropout: float = 0.0
    eps: float = 1e-6


class VisionTransformer(TimmMethods, Model):
    """Patches, a pre-norm encoder, and a head on the class token or the mean: arXiv:2010.11929.

    Args:
        config: its fields are the keywords, see `VisionTransformerConfig` and `PatchConfig`.

    Raises:
        ConfigError: If the image is not a multiple of the patch, or the class token could read no patch.
    """

    @configured(VisionTransformerConfig)
    def __init__(self, config: VisionTransformerConfig) -> None:
        first = int(config.pool == "first")
        stem = config.stem(class_token=bool(first), dropout=config.dropout)
        encoder = config.encoder(prefix=first, dropout=config.dropout, eps=config.eps)
        answer = head(config.task, config.dim, config.num_classes, pool=config.pool, prefix=first)
        super().__init__(stem, encoder, answer)
        self.image_size, self.reduction, self.num_prefix_tokens = pair(config.image_size), config.patch_size, first
        init_weights(self)
        check_fit(self, config.tokens(first))
        if first and config.task in POOLED:
            check_class_token(self, config.tokens(first))


def check_class_token(model: Model, tokens: int) -> None:
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
