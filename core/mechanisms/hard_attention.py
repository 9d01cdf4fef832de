"""Hard attention: a query reads one key, in training one drawn from the softmax (arXiv:1502.03044 sec. 4.1).

No gradient of an answer reaches the scores; REINFORCE estimates it from what `record_choices` collects.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core.cache.state import State
from zoo.core.errors import ConfigError
from zoo.core.layers.attention import Attention
from zoo.core.losses.reinforce import log_probability
from zoo.core.patterns.pattern import Pattern
from zoo.core.scoring.normalizers import Hard
from zoo.core.streaming.attention_stage import AttentionStream
from zoo.core.tokens import Tokens


class HardAttention(Attention):
    """Multi-head attention whose queries read one key each: a drawn one in training, the best in evaluation.

    Args:
        dim: channels in and out.
        num_heads: heads.
        options: as for `Attention`, but for `norm`.
    """

    choices: list[Float[Tensor, "b h q"]] | None = None
    """Collects the log-probabilities of the choices, while `record_choices` is open."""

    def __init__(self, dim: int, num_heads: int, **options: Any) -> None:
        super().__init__(dim, num_heads, norm=Hard(), **options)

    def forward(
        self, tokens: Tokens, context: Tokens | None = None, state: State | None = None
    ) -> Float[Tensor, "b n d"]:
        """Attend as `Attention` does; in training from each query to a key that is drawn.

        Raises:
            ConfigError: If gradients are wanted in training and nothing collects the choices that they cannot reach.
        """
        if not self.training:
            return super().forward(tokens, context, state)
        if self.choices is None and torch.is_grad_enabled():
            raise ConfigError(
                "attention='hard' in training without the objective that trains its choices, REINFORCE: use zoo train, "
                "or zoo.train, with reinforce= above 0; or record_choices in a training of your own"
            )
        inputs, score = self.inputs(tokens, context, state), self.make_score()
        wanted = self.choices is not None
        found = inputs.attend(score=score, dropout=self.dropout, norm=Hard(sample=True), return_weights=wanted)
        if self.choices is None:
            return self.out(found.flatten(2))
        y, chosen = found
        self.choices.append(log_probability(chosen, inputs.attend(score=score, return_weights=True)[1]))
        return self.out(y.flatten(2))

    def stream(self, pattern: Pattern | None = None) -> AttentionStream:
        """Give the stage that answers while vectors come; it reads the best keys."""
        return AttentionStream(self, self.pattern if pattern is None else pattern & self.pattern)

    def packs(self) -> bool:
        """Tell that each row is computed alone: its own loss is the reward of its choices."""
        return False


def hard_layers(model: nn.Module) -> list[HardAttention]:
    """List the layers of hard attention."""
    return [part for part in model.modules() if isinstance(part, HardAttention)]


@contextmanager
def collecting(layers: Iterable[Any], choices: Any) -> Iterator[None]:
    """Let layers of hard attention collect in `choices` what they choose."""
    layers = list(layers)
    for layer in layers:
        layer.choices = choices
    try:
        yield
    finally:
        for layer in layers:
            layer.choices = None


@contextmanager
def record_choices(model: nn.Module) -> Iterator[list[Float[Tensor, "b h q"]]]:
    """Collect the log-probabilities of what the hard attention of a model chooses in training, a tensor a call.

    Args:
        model: any module with `HardAttention` in it.
    """
    choices: list[Tensor] = []
    with collecting(hard_layers(model), choices):
        yield choices


def hard() -> type[HardAttention]:
    """Give the attention factory of `attention="hard"`."""
    return HardAttention
