"""`Composition`, the base of all models, and `Model`: stem (raw input to `Tokens`), encoder, head (to the answer)."""

import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core.errors import ConfigError, InputError
from zoo.core.generation.keywords import check_input_keywords
from zoo.core.layers.pooling import pooled
from zoo.core.layers.transformer import Decoder, Stack
from zoo.core.losses.loss import cross_entropy
from zoo.core.models.explorable import Explorable
from zoo.core.models.inspection import attention_maps
from zoo.core.ops.tensor_check import check_tensor
from zoo.core.tokens import Tokens
from zoo.core.transforms.activation_checkpointing import recomputed

Criterion = Callable[[Tensor, Tensor, float], Tensor]
"""Gives the loss of (answer, target, label smoothing)."""


class SourceTarget(NamedTuple):
    """Inputs of a model, split into those of its source and those of the target that it is taught or continues.

    Args:
        source: arguments of the stem.
        target: arguments of what embeds the target; none for a model without one.
    """

    source: tuple[Any, ...]
    target: tuple[Any, ...] = ()


class Composition(Explorable, nn.Module):
    """Base of all models: a stem, stacks of blocks and a head; features, intermediate states and the loss of training.

    A sub-class says how its inputs are split, and which stack of blocks stands before the head.
    """

    spec: Any = None
    """The resolved `ModelSpec` of a model that was made by name."""
    stem: Any
    """The source's raw input to `Tokens`; None where `target` embeds it."""
    target: Any
    """Embeds what a decoder reads."""
    encoder: Any
    """`Tokens` to `Tokens`; it also gives the `states` after each block."""
    head: Any
    """`Tokens` to the answer; it has a `dim`, a `num_classes` and a `reset`."""
    criterion: Criterion = staticmethod(cross_entropy)
    """Loss of the answer."""
    new_parts: tuple[str, ...] = ()
    """Names of the parts that no weights of joined models hold: the bridge, and cross-attention that was inserted."""
    grad_checkpointing = False
    """Whether blocks keep only their inputs for the backward pass; see `set_grad_checkpointing`."""
    own_loss = False
    """Whether `training_loss` is more than a criterion of the answer; set where a sub-class overrides it."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.own_loss = cls.training_loss is not Composition.training_loss

    def split(self, inputs: tuple[Any, ...]) -> SourceTarget:
        """Split the inputs of `forward`; all are the source's, of a model that only encodes."""
        return SourceTarget(inputs)

    def encode(self, *source: Any) -> Tokens:
        """Give the encoder's vectors of a source, as a decoder reads them."""
        return self.context((self.target if self.stem is None else self.stem)(*source))

    def context(self, tokens: Tokens) -> Tokens:
        """Give the encoder's vectors of tokens as a decoder reads them: the pattern is among themselves, so it goes."""
        return replace(self.encoder(tokens), pattern=None)

    def behind(self, source: nn.Module) -> "Composition":
        """Give a model of this one's decoder that reads another source; the two share what they are made of.

        Args:
            source: raw inputs to `Tokens` of the decoder's channels, as `zoo.core.Source`; it comes in place of this
                model's own stem and encoder.

        Raises:
            ConfigError: If this model has no decoder that can read it.
        """
        raise ConfigError(
            f"{type(self).__name__} has no decoder that reads an encoder's vectors: models that write have one"
        )

    def last_stack(self, *inputs: Any) -> tuple[Any, tuple[Any, ...]]:
        """Give the stack of blocks before the head, and its arguments."""
        return self.encoder, (self.stem(*self.split(inputs).source),)

    def forward(self, *inputs: Any, **others: Any) -> Tensor:
        """Give the answer of the model's task.

        Args:
            inputs: those of the stem; of a model with an encoder and a decoder, the target's ids behind them.
            others: none; a keyword, such as another library's name of an input, is an error that names the inputs.
        """
        check_input_keywords(others, self.input_names())
        return self._fitted(self.head(self._features(inputs)), inputs)

    def input_names(self) -> list[str]:
        """Name the inputs in their order, as the stem does."""
        first = self.target if self.stem is None else self.stem
        if callable(names := getattr(first, "input_names", None)):
            return list(names())
        parameters = inspect.signature(first.forward).parameters.values()
        return [f"*{p.name}" if p.kind is p.VAR_POSITIONAL else p.name for p in parameters]

    def forward_features(self, *inputs: Any) -> Float[Tensor, "b n d"]:
        """Give the vectors before the head."""
        return self._fitted(self._features(inputs).x, inputs)

    def pooled_features(self, *inputs: Any) -> Float[Tensor, "sets d"]:
        """Give one vector for each input: what the head pools, else the mean of the encoder's vectors.

        Args:
            inputs: as `zoo.preprocess` gives them: of a model with an encoder and a decoder, those of the source.
        """
        writes = self.encoder is not None and getattr(self, "decoder", None) is not None
        tokens = self.encode(*inputs) if writes else self._features(inputs)
        own = None if writes else getattr(self.head, "pooled", None)
        return pooled(tokens, "mean") if own is None else own(tokens)

    def forward_intermediates(
        self, *inputs: Any, indices: int | Sequence[int] | None = None
    ) -> tuple[Float[Tensor, "b n d"], list[Float[Tensor, "b n _"]]]:
        """Give the vectors before the head, and those after each block of the last stack.

        Args:
            inputs: as for the model.
            indices: which blocks; None for all, n for the last n, or a list that may count from the end.

        Raises:
            ConfigError: If a block of that index does not exist.
        """
        with self.checkpointed():
            stack, arguments = self.last_stack(*inputs)
            states = [self._fitted(tokens.x, inputs) for tokens in stack.states(*arguments)]
        return states[-1], [states[i] for i in resolve_indices(indices, len(states))]

    def training_loss(self, inputs: tuple[Any, ...], target: Tensor, smoothing: float = 0.0) -> Float[Tensor, ""]:
        """Give the loss of training, by `criterion` where a model does not override it.

        Args:
            inputs: as for the model.
            target: classes, labels or numbers; -100, or NaN of numbers, where there is none.
            smoothing: share of the right answer that is spread over all.
        """
        return self.criterion(self(*inputs), target, smoothing)

    def _features(self, inputs: tuple[Any, ...]) -> Tokens:
        with self.checkpointed():
            stack, arguments = self.last_stack(*inputs)
            return stack(*arguments)

    def _fitted(self, x: Tensor, inputs: tuple[Any, ...]) -> Tensor:
        """Bring places of an answer to those of the inputs, where they are others."""
        return x

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

    def get_classifier(self) -> nn.Module:
        """Give the last layer: that of the labels, the identity without labels, or the head of another task."""
        found: nn.Module = getattr(self.head, "linear", self.head)
        return found

    def set_grad_checkpointing(self, enable: bool = True) -> None:
        """Let blocks keep only their inputs for the backward pass of `forward` and of the features, arXiv:1604.06174.

        Args:
            enable: whether they do.

        Raises:
            ConfigError: If the model has no blocks.
        """
        if enable and not self._blocks():
            raise ConfigError(f"{type(self).__name__} has no blocks of an encoder or a decoder to compute again")
        self.grad_checkpointing = enable

    def checkpointed(self) -> AbstractContextManager[None]:
        """Give a context in which blocks are computed again in the backward pass, where that was set."""
        if self.grad_checkpointing and torch.is_grad_enabled():
            return recomputed(self._blocks())
        return nullcontext()

    def _blocks(self) -> list[nn.Module]:
        return [block for part in self.modules() if isinstance(part, Stack | Decoder) for block in part.blocks]

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
        self.stem = stem
        self.encoder = encoder
        self.head = head


def source_and_ids(inputs: tuple[Any, ...]) -> SourceTarget:
    """Split inputs of a model with an encoder: the last are the target's ids, those before the source's.

    Raises:
        InputError: If there are no inputs for one of them.
    """
    for ids in inputs[-1:]:
        check_tensor(ids, "ids")
    if len(inputs) < 2:
        raise InputError(
            f"{len(inputs)} given of the inputs of a model with an encoder and a decoder: give the source's, "
            "then the ids of the target; where it is to write these itself, give *model.with_answer(*source)"
        )
    return SourceTarget(inputs[:-1], inputs[-1:])


def has_own_loss(model: Any) -> bool:
    """Tell whether a model, perhaps wrapped, computes its loss of training itself, not by a criterion of its answer."""
    own: bool = getattr(model, "own_loss", hasattr(model, "training_loss"))
    return own


def resolve_indices(indices: int | Sequence[int] | None, depth: int) -> list[int]:
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
