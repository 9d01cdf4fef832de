"""Dilated convolutions over text, whose reach doubles with each layer; sizes are in `plugin.py`."""

from dataclasses import dataclass

from zoo.core import ConfigError, Model, Stack, TokenEmbed, configured, head
from zoo.plugins.text.models.convolutional import GatedBlock
from zoo.plugins.text.models.initialization import init_text


@dataclass(frozen=True, kw_only=True)
class DilatedCnnConfig:
    """Sizes and options of `DilatedCnn`.

    Args:
        vocab_size: tokens there are.
        dim: channels.
        depth: gated convolutions; the i-th, from 0, reads tokens that are 2^i apart.
        kernel_size: tokens that each reads, odd.
        num_classes: labels of `classify`, `multi-label` and `tag`; 0 for features.
        task: `classify`, `multi-label`, `tag` or `features`.
        dropout: probability in [0, 1), of what each convolution reads.
    """

    vocab_size: int = 260
    dim: int = 38
    depth: int = 8
    kernel_size: int = 3
    num_classes: int = 0
    task: str = "classify"
    dropout: float = 0.0


class DilatedCnn(Model):
    """Gated convolutions whose dilation doubles from layer to layer: arXiv:1610.10099 sec. 3.4, arXiv:1705.03122.

    A token reads 2^depth - 1 tokens on each side, with a kernel of three. It classifies from the mean.

    Args:
        config: its fields are the keywords, see `DilatedCnnConfig`.

    Raises:
        ConfigError: If there is no layer.
    """

    @configured(DilatedCnnConfig)
    def __init__(self, config: DilatedCnnConfig) -> None:
        if config.depth < 1:
            raise ConfigError(f"depth={config.depth}: at least one convolution")
        stem = TokenEmbed(config.vocab_size, config.dim, position="none")
        blocks = [GatedBlock(config.dim, config.kernel_size, config.dropout, 2**i) for i in range(config.depth)]
        super().__init__(stem, Stack(blocks), head(config.task, config.dim, config.num_classes, pool="mean"))
        init_text(self, config.dim**-0.5)
