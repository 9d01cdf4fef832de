"""GPS: attention along the edges and attention to all nodes of the graph, side by side in one block (arXiv:2205.12454).

Axes: n nodes, d channels.
"""

from collections.abc import Callable
from dataclasses import replace

from jaxtyping import Float
from torch import Tensor, nn

from zoo.core import Attention, ConfigError, Mlp, Stack, Tokens, linear_attention, relu


class NodeNorm(nn.BatchNorm1d):
    """Batch norm over nodes; in training, a graph's answer then depends on the others of its batch."""

    def forward(self, x: Float[Tensor, "b n d"]) -> Float[Tensor, "b n d"]:
        """Norm each channel."""
        return super().forward(x.flatten(0, 1)).view_as(x)


WIDE: dict[str, Callable[[int, int], nn.Module]] = {"full": Attention, "linear": linear_attention()}
"""How a node reads its whole graph, by name."""
NORMS: dict[str, Callable[[int], nn.Module]] = {"layer": nn.LayerNorm, "batch": NodeNorm}


class GpsBlock(nn.Module):
    """norm(x + local(x)) + norm(x + wide(x)), then norm(y + mlp(y)): arXiv:2205.12454 eq. 2 to 5.

    The wide attention reads the nodes of its own graph only, also where several are packed.

    Args:
        dim: channels.
        local: attention along the edges, `Tokens -> (batch, length, dim)`.
        wide: attention to all nodes, the same.
        mlp: `(batch, length, dim)` to the same.
        norm: makes a norm from `dim`.
        dropout: probability in [0, 1), after each attention.
    """

    def __init__(
        self,
        dim: int,
        local: nn.Module,
        wide: nn.Module,
        mlp: nn.Module,
        *,
        norm: Callable[[int], nn.Module] = nn.LayerNorm,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.local, self.wide, self.mlp = local, wide, mlp
        self.norm1, self.norm2, self.norm3 = (norm(dim) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tokens) -> Tokens:
        """Give the same nodes with new vectors."""
        x = tokens.x
        near = self.norm1(x + self.dropout(self.local(tokens)))
        far = self.norm2(x + self.dropout(self.wide(replace(tokens, pattern=None))))
        y = near + far
        return tokens.with_x(self.norm3(y + self.mlp(y)))


def gps_encoder(
    dim: int,
    depth: int,
    num_heads: int,
    mlp_dim: int,
    *,
    attention: Callable[[int, int], nn.Module] = Attention,
    wide: str = "full",
    norm: str = "layer",
    dropout: float = 0.0,
) -> Stack:
    """Make a stack of GPS blocks.

    Args:
        dim: channels.
        depth: blocks.
        num_heads: heads of both attentions.
        mlp_dim: channels inside each MLP.
        attention: makes each block's attention along the edges from `(dim, num_heads)`.
        wide: how a node reads its whole graph: `full` or `linear`.
        norm: `layer`, or `batch` as in the paper.
        dropout: probability in [0, 1), after attention and inside the MLP.

    Raises:
        ConfigError: If a name is unknown, or there is no block.
    """
    if wide not in WIDE:
        raise ConfigError(f"wide={wide!r} is not one of {', '.join(WIDE)}")
    if norm not in NORMS:
        raise ConfigError(f"norm={norm!r} is not one of {', '.join(NORMS)}")
    if depth < 1:
        raise ConfigError(f"depth={depth}: a stack has at least one block")

    def make() -> GpsBlock:
        parts = attention(dim, num_heads), WIDE[wide](dim, num_heads), Mlp(dim, mlp_dim, dropout, activation=relu)
        return GpsBlock(dim, *parts, norm=NORMS[norm], dropout=dropout)

    return Stack(make() for _ in range(depth))
