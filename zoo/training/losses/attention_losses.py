"""Objectives that add a loss on the weights with which a decoder reads an encoder."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from zoo.core.layers.blocks import Block
from zoo.core.layers.protocol import AttentionLayer, WeighsPairs
from zoo.core.losses.alignment import doubly_stochastic, guided_attention, monotonic
from zoo.core.losses.loss import IGNORED
from zoo.core.mechanisms.alignment.attentive import AttentiveDecoder
from zoo.core.mechanisms.alignment.hard import hard_alignments
from zoo.core.tokens import Tokens
from zoo.data.corpus import Batch
from zoo.errors import ConfigError
from zoo.training.objective import Objective


class AttentionLoss(ABC):
    """Add a loss on where the decoder looks, the mean over its attentions to the encoder.

    Args:
        objective: what it is added to.
        model: has a decoder that reads an encoder.

    Raises:
        ConfigError: If no attention of the model reads an encoder, or it is hard attention.
    """

    title: str
    """What it is, for the error."""

    def __init__(self, objective: Objective, model: nn.Module) -> None:
        self.objective = objective
        if hard_alignments(model):
            raise ConfigError(f"{self.title} of hard attention, which chooses: make the model with choice='soft'")
        if not crossing(model):
            raise ConfigError(f"{self.title} of {type(model).__name__}, which has no attention to an encoder")

    @abstractmethod
    def penalty(
        self, weights: Float[Tensor, "b h q k"], queries: Int[Tensor, " b"], keys: Int[Tensor, " b"] | None
    ) -> Float[Tensor, ""]:
        """Give the loss of one attention.

        Args:
            weights: of its keys.
            queries: queries of each row.
            keys: keys of each row; None for all.
        """

    def __call__(self, forward: Any, batch: Batch, step: int) -> Tensor:
        """Give the loss."""
        queries = (batch.target != IGNORED).sum(1)
        with watched(crossing(forward)) as seen:
            loss = self.objective(forward, batch, step)
        for weights, keys in seen:
            loss = loss + self.penalty(weights, queries, keys) / len(seen)
        return loss


class GuidedAttention(AttentionLoss):
    """Add a prior on where the decoder looks.

    Args:
        objective: what it is added to.
        model: has a decoder that reads an encoder.
        diagonal: weight of the diagonal prior, arXiv:1710.08969 eq. 6.
        forwards: weight of the penalty on going back, arXiv:2104.03945.
    """

    title = "guided attention"

    def __init__(self, objective: Objective, model: nn.Module, diagonal: float, forwards: float = 0.0) -> None:
        super().__init__(objective, model)
        self.diagonal, self.forwards = diagonal, forwards

    def penalty(
        self, weights: Float[Tensor, "b h q k"], queries: Int[Tensor, " b"], keys: Int[Tensor, " b"] | None
    ) -> Float[Tensor, ""]:
        total = weights.new_zeros(())
        if self.diagonal:
            total = total + self.diagonal * guided_attention(weights, queries, keys)
        if self.forwards:
            total = total + self.forwards * monotonic(weights, queries, keys)
        return total


class DoublyStochastic(AttentionLoss):
    """Ask a decoder to read all of the source equally often: arXiv:1502.03044 sec. 4.2.1.

    Args:
        objective: what it is added to.
        model: has a decoder that reads an encoder.
        weight: λ.
        target: `1` or `uniform`, see `doubly_stochastic`.
    """

    title = "doubly stochastic attention"

    def __init__(self, objective: Objective, model: nn.Module, weight: float, target: str = "1") -> None:
        super().__init__(objective, model)
        self.weight, self.target = weight, target

    def penalty(
        self, weights: Float[Tensor, "b h q k"], queries: Int[Tensor, " b"], keys: Int[Tensor, " b"] | None
    ) -> Float[Tensor, ""]:
        return self.weight * doubly_stochastic(weights, queries, keys, self.target)


def crossing(model: nn.Module) -> list[nn.Module]:
    """List what reads an encoder: the attentions of a decoder's blocks, or a recurrent decoder."""
    crosses = (part.cross for part in model.modules() if isinstance(part, Block) and part.cross is not None)
    recurrent = (part for part in model.modules() if isinstance(part, AttentiveDecoder))
    return [*(cross for cross in crosses if isinstance(cross, AttentionLayer)), *recurrent]


@contextmanager
def watched(layers: list[nn.Module]) -> Iterator[list[tuple[Float[Tensor, "b h q k"], Tensor | None]]]:
    """Collect the weights of attentions as they are used with gradients, and how many keys each row has."""
    seen: list[tuple[Tensor, Tensor | None]] = []

    def record(layer: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        if torch.is_grad_enabled() and isinstance(layer, WeighsPairs):
            weights = layer.weights(*given, **named)
            context: Tokens = named.get("context") or given[1]
            seen.append((weights, _counts(context)))

    hooks = [layer.register_forward_pre_hook(record, with_kwargs=True) for layer in layers]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def _counts(context: Tokens) -> Tensor | None:
    if context.keys is None:
        return None
    batch, length, _ = context.x.shape
    return context.keys.valid(batch, length, context.x.device).sum(1)
