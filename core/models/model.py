"""`Model`, the composition: stem (raw input to `Tokens`), encoder (`Tokens` to `Tokens`), head (`Tokens` to answer)."""

from collections.abc import Sequence
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from zoo.core.errors import ConfigError
from zoo.core.models.inspection import attention_maps


class Composition(nn.Module):
    """Hold what is asked of every composition, whether it labels or writes."""

    spec: Any = None
    """The resolved `ModelSpec` of a model that was made by name."""
    head: Any
    """`Tokens` to the answer; it has a `dim`, a `num_classes` and a `reset`."""

    def attention_maps(self, *inputs: Any) -> list[Float[Tensor, "b h q k"]]:
        """Give the attention weights of each layer in the order of use; rows sum to 1, or to 0 with nothing to read."""
        return attention_maps(self, *inputs)

    def with_answer(self, *inputs: Any, max_len: int | None = None) -> tuple[Any, ...]:
        """Give inputs as `forward` reads them: behind those of a source stands what the model writes, where it does.

        Args:
            inputs: as for `generate`, of a model that has one.
            max_len: steps at most that are written; None for as many as the model writes.
        """
        return inputs

    def reset_classifier(self, num_classes: int) -> None:
        """Replace the classifier by a fresh one, 0 for none; a head that writes refuses another vocabulary."""
        self.head.reset(num_classes)

    @property
    def num_features(self) -> int:
        """Channels of the vectors before the head."""
        return self.head.dim

    @property
    def num_classes(self) -> int:
        """Labels of the classifier, 0 without one; or tokens of the vocabulary."""
        return self.head.num_classes


class Model(Composition):
    """Compose a stem, an encoder and a head; every encoder of the zoo is one.

    Args:
        stem: raw input to `Tokens`; where these follow each other in time, its `spacing` says how far apart two are,
            such as `(0.04, "s")`.
        encoder: `Tokens` to `Tokens`; it also gives the `states` after each block.
        head: `Tokens` to the answer; it has a `dim`, a `num_classes` and a `reset`.
    """

    def __init__(self, stem: nn.Module, encoder: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.stem: Any = stem
        self.encoder: Any = encoder
        self.head: Any = head

    def forward(self, *inputs: Any) -> Tensor:
        """Give the answer of the model's task."""
        return self.head(self.encoder(self.stem(*inputs)))

    def forward_features(self, *inputs: Any) -> Float[Tensor, "b n d"]:
        """Give the vectors before the head."""
        return self.encoder(self.stem(*inputs)).x

    def forward_intermediates(
        self, *inputs: Any, indices: int | Sequence[int] | None = None
    ) -> tuple[Float[Tensor, "b n d"], list[Float[Tensor, "b n d"]]]:
        """Give the vectors before the head, and those after each block.

        Args:
            inputs: as for the model.
            indices: which blocks; None for all, n for the last n, or a list that may count from the end.

        Raises:
            ConfigError: If a block of that index does not exist.
        """
        states = [tokens.x for tokens in self.encoder.states(self.stem(*inputs))]
        return states[-1], [states[i] for i in take(indices, len(states))]


def take(indices: int | Sequence[int] | None, depth: int) -> list[int]:
    """Turn None (all), n (the last n) or a list that may count from the end into indices.

    Raises:
        ConfigError: If an index lies outside the blocks.
    """
    if indices is None:
        return list(range(depth))
    if isinstance(indices, int):
        indices = range(depth - indices, depth)
    if len(indices) > depth or any(not -depth <= i < depth for i in indices):
        raise ConfigError(f"indices={list(indices)} of a model with {depth} blocks")
    return [i % depth for i in indices]
