"""Output heads: classification, tagging, next-token prediction, or the vectors themselves."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core.errors import ConfigError
from zoo.core.layers.pooling import check_pool, pooled
from zoo.core.ops.int8.int8_matrix import Int8Matrix
from zoo.core.ops.linear import Linear, scores
from zoo.core.ops.products import multiply
from zoo.core.tokens import Tokens


class Classifier(nn.Module):
    """Hold the linear layer that `Classify` and `Tag` share.

    Args:
        dim: channels of the vectors.
        num_classes: labels; 0 for none: the vectors pass.
    """

    def __init__(self, dim: int, num_classes: int) -> None:
        super().__init__()
        self.dim = dim
        self.reset(num_classes)

    def reset(self, num_classes: int) -> None:
        """Replace the classifier by a fresh one, on the device and in the dtype of the old."""
        if num_classes < 0:
            raise ConfigError(f"num_classes={num_classes} is negative")
        old = getattr(self, "linear", None)
        like = next(old.parameters(), None) if old is not None else None
        self.num_classes = num_classes
        self.linear = nn.Linear(self.dim, num_classes) if num_classes else nn.Identity()
        if isinstance(self.linear, nn.Linear):
            nn.init.trunc_normal_(self.linear.weight, std=0.02)
            nn.init.zeros_(self.linear.bias)
        if like is not None:
            self.linear.to(like.device, like.dtype)

    def scores(self, x: Float[Tensor, "*n d"]) -> Float[Tensor, "*n classes"]:
        """Give a score for each label of each vector."""
        return scores(self.linear, x)


class Classify(Classifier):
    """Classifier of a sequence: linear layer on its first vector, or on the mean, sum or maximum of the valid ones.

    Args:
        dim: channels of the vectors.
        num_classes: labels; 0 for none: the pooled vector is the answer.
        pool: `first`, `mean`, `sum` or `max`; of packed sets each gets a label.
    """

    def __init__(self, dim: int, num_classes: int, pool: str = "first") -> None:
        super().__init__(dim, num_classes)
        check_pool(pool)
        self.pool = pool

    def forward(self, tokens: Tokens) -> Float[Tensor, "sets classes"]:
        """Give a score for each label."""
        return self.scores(self.pooled(tokens))

    def pooled(self, tokens: Tokens) -> Float[Tensor, "sets d"]:
        """Give one vector for each set."""
        return pooled(tokens, self.pool)


class PooledClassify(Classify):
    """A label for the set, from its first vector behind a linear layer and a tanh: BERT's pooler, arXiv:1810.04805.

    Args:
        dim: channels of the vectors.
        num_classes: labels; 0 for none: the pooled vector is the answer.
        pool: what is pooled where the first vector has not read the others, as for `Classify`.
    """

    def __init__(self, dim: int, num_classes: int, pool: str = "first") -> None:
        super().__init__(dim, num_classes, pool)
        self.pooler = Linear(dim, dim)

    def pooled(self, tokens: Tokens) -> Float[Tensor, "sets d"]:
        """Give one vector for each set."""
        return self.pooler(super().pooled(tokens)).tanh()


class Tag(Classifier):
    """A label for each vector.

    Args:
        dim: channels of the vectors.
        num_classes: labels; 0 for none: the vectors are the answer.
        prefix: vectors at the front that get no label, such as a class token.
    """

    def __init__(self, dim: int, num_classes: int, prefix: int = 0) -> None:
        super().__init__(dim, num_classes)
        self.prefix = prefix

    def forward(self, tokens: Tokens) -> Float[Tensor, "b n classes"]:
        """Give a score for each label, for each vector; 0 where none is."""
        labels, valid = self.scores(tokens.x[:, self.prefix :]), tokens.valid()
        return labels if valid is None else labels.masked_fill(~valid[:, self.prefix :, None], 0)


class Features(nn.Module):
    """The vectors themselves.

    Args:
        dim: channels of the vectors.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim
        self.num_classes = 0

    def reset(self, num_classes: int) -> None:
        """Refuse a classifier."""
        if num_classes:
            raise ConfigError(f"num_classes={num_classes} with task='features', which has no classifier")

    def forward(self, tokens: Tokens) -> Float[Tensor, "b n d"]:
        """Give the vectors; 0 where none is."""
        return tokens.without_padding().x


class NextToken(nn.Module):
    """A score for each token of a vocabulary, from each vector.

    Args:
        dim: channels of the vectors.
        vocab_size: tokens there are.
        shared: the embedding whose vectors are the weights too (arXiv:1608.05859); own weights if None.
        bias: whether each token has a number that is added.
    """

    def __init__(self, dim: int, vocab_size: int, shared: nn.Embedding | None = None, *, bias: bool = False) -> None:
        super().__init__()
        self.dim = dim
        self.num_classes = vocab_size
        self._shared: tuple[nn.Embedding | None] = (
            shared,
        )  # in a tuple it is no child: its weights are the embedding's, and saved there
        self.weight = None if shared is not None else nn.Parameter(torch.empty(vocab_size, dim))
        self.bias = nn.Parameter(torch.zeros(vocab_size)) if bias else None
        if self.weight is not None:
            nn.init.xavier_uniform_(self.weight)

    def forward(self, tokens: Tokens) -> Float[Tensor, "b n vocab"]:
        """Give the scores."""
        return multiply(tokens.x, self.matrix, self.bias)

    @property
    def matrix(self) -> nn.Parameter | Int8Matrix:
        """A row for each token: its own weights, or those of the embedding."""
        (shared,) = self._shared
        weight = self.weight if shared is None else shared.weight
        assert isinstance(weight, nn.Parameter | Int8Matrix)
        return weight

    def keep_weights(self) -> None:
        """Take the weights that are shared with an embedding as the head's own, of a model that leaves that out."""
        (shared,) = self._shared
        if shared is not None:
            self._shared = (None,)
            self.weight = nn.Parameter(shared.weight.detach(), requires_grad=shared.weight.requires_grad)

    def reset(self, num_classes: int) -> None:
        """Refuse another vocabulary.

        Raises:
            ConfigError: If it is another.
        """
        if num_classes != self.num_classes:
            raise ConfigError(
                f"num_classes={num_classes} of a model that writes tokens: its vocabulary has {self.num_classes}, "
                "make it with vocab_size= instead"
            )


class MaskedToken(nn.Module):
    """A score for each token in each place, behind a linear layer, GELU and norm: the code of arXiv:1810.04805.

    Args:
        dim: channels of the vectors.
        shared: the embedding whose vectors are the weights too.
        eps: of the layer norm.
    """

    def __init__(self, dim: int, shared: nn.Embedding, eps: float = 1e-12) -> None:
        super().__init__()
        self.dim = dim
        self.transform = Linear(dim, dim)
        self.norm = nn.LayerNorm(dim, eps=eps)
        self.scores = NextToken(dim, shared.num_embeddings, shared, bias=True)

    def forward(self, tokens: Tokens) -> Float[Tensor, "b n vocab"]:
        """Give the scores."""
        return self.scores(tokens.with_x(self.norm(nn.functional.gelu(self.transform(tokens.x)))))

    @property
    def num_classes(self) -> int:
        """Tokens of the vocabulary."""
        return self.scores.num_classes

    def reset(self, num_classes: int) -> None:
        """Refuse another vocabulary."""
        self.scores.reset(num_classes)


POOLED = ("classify", "multi-label")
"""Tasks with one answer for the set: the one class that is right (softmax), or labels of which any may be (sigmoid)."""


def head(task: str, dim: int, num_classes: int, *, pool: str = "first", prefix: int = 0) -> nn.Module:
    """Make the head of a task.

    Args:
        task: `classify`, `multi-label` (the same layer, its scores read by a sigmoid each), `tag` or `features`.
        dim: channels of the vectors.
        num_classes: labels; 0 for none.
        pool: how `classify` and `multi-label` make one vector of many.
        prefix: vectors at the front that `tag` gives no label.

    Raises:
        ConfigError: If the task is none of these.
    """
    if task in POOLED:
        return Classify(dim, num_classes, pool)
    if task == "tag":
        return Tag(dim, num_classes, prefix)
    if task == "features":
        return Features(dim)
    raise ConfigError(f"task={task!r} is not one of classify, multi-label, tag, features")
