"""Heads of graph models: node labels, node vectors, and scores of node pairs (link prediction).

Nodes of all graphs stand in one row; answers have no axis for it, as in PyTorch Geometric.
Axes: n nodes, p pairs, d channels.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core import Classifier, ConfigError, Features, Tag, Tokens, head


class NodeTag(Tag):
    """A label for each node.

    Args:
        dim: channels of the vectors.
        num_classes: labels; 0 for none: the vectors are the answer.
    """

    def forward(self, tokens: Tokens) -> Float[Tensor, "n classes"]:
        """Give a score for each label, for each node."""
        return self.scores(tokens.x.squeeze(0))


class NodeFeatures(Features):
    """The vectors of the nodes.

    Args:
        dim: channels of the vectors.
    """

    def forward(self, tokens: Tokens) -> Float[Tensor, "n d"]:
        """Give the vectors."""
        return tokens.x.squeeze(0)


class Link(Classifier):
    """A score for each pair of nodes, the same for both directions.

    Args:
        dim: channels of the vectors.
        num_classes: kinds of links, each with a score from the product of the two vectors, channel by channel
            (arXiv:1412.6575); 0 for one score without parameters, their scaled product.
    """

    def forward(self, tokens: Tokens, pairs: Int[Tensor, "2 p"]) -> Float[Tensor, " p *kinds"]:
        """Give the scores."""
        left, right = tokens.x.squeeze(0)[pairs]
        if not self.num_classes:
            return (left * right).sum(1) / math.sqrt(self.dim)
        return self.scores(left * right)


class StandardizedHead(nn.Module):
    """Regression head with standardised targets: the answers of a head times the standard deviation, plus the mean.

    Args:
        head: gives the answers; one fresh of other numbers gives them as they are.
        units: mean and deviation of each number.

    Raises:
        ConfigError: If they are not as many as the numbers, or a deviation is not positive.
    """

    def __init__(self, head: Classifier, units: Sequence[Sequence[float]]) -> None:
        super().__init__()
        if len(units) != head.num_classes or any(len(unit) != 2 or not unit[1] > 0 for unit in units):
            raise ConfigError(
                f"units={units!r}: a mean and a positive deviation for each of {head.num_classes} numbers"
            )
        self.head = head
        self.mean: Tensor
        self.deviation: Tensor
        for name, values in zip(("mean", "deviation"), zip(*units, strict=True), strict=True):
            self.register_buffer(name, torch.tensor(values, dtype=torch.get_default_dtype()), persistent=False)

    @property
    def dim(self) -> int:
        """Channels of the vectors."""
        return self.head.dim

    @property
    def num_classes(self) -> int:
        """Numbers."""
        return self.head.num_classes

    def reset(self, num_classes: int) -> None:
        """Replace the head by a fresh one; of another number of answers it gives them as they are."""
        if num_classes != self.num_classes:
            self.mean, self.deviation = torch.zeros_like(self.mean[:1]), torch.ones_like(self.mean[:1])
        self.head.reset(num_classes)

    def forward(self, tokens: Tokens) -> Float[Tensor, "places numbers"]:
        """Give the numbers."""
        return self.mean + self.deviation * self.head(tokens)


def node_head(task: str, dim: int, num_classes: int, pool: str, units: Sequence[Sequence[float]] = ()) -> nn.Module:
    """Make the head of a task.

    Args:
        task: `classify` (of each graph), `tag` (of each node), `link` or `features`.
        dim: channels of the vectors.
        num_classes: labels; 0 for none.
        pool: how `classify` makes one vector of a graph's nodes.
        units: mean and deviation of each number that `classify` or `tag` predicts; none for answers as they are.

    Raises:
        ConfigError: If the task is none of these, or the units do not fit.
    """
    if units and num_classes and task in ("classify", "tag"):
        return StandardizedHead(node_head(task, dim, num_classes, pool), units)  # type: ignore[arg-type]
    if task == "classify":
        return head(task, dim, num_classes, pool=pool)
    if task == "tag":
        return NodeTag(dim, num_classes)
    if task == "features":
        return NodeFeatures(dim)
    if task == "link":
        return Link(dim, num_classes)
    raise ConfigError(f"task={task!r} is not one of classify, tag, link, features")
