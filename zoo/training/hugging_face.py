"""`zoo.hf(model)`: a model with the keyword inputs and the outputs of Hugging Face, for its Trainer and others' loops.

Axes: b rows, n tokens, m tokens of the target, t samples.
"""

from collections import OrderedDict
from typing import Any

import torch
from torch import Tensor, nn

from zoo.core.losses.loss import IGNORED, binary_cross_entropy, cross_entropy
from zoo.core.models.model import has_own_loss
from zoo.core.special_tokens import SYMBOLS
from zoo.errors import ConfigError, InputError

NAMES = {"ids": "input_ids", "images": "pixel_values", "sounds": "input_values"}
"""Hugging Face's name of a model's first input."""


class Output(OrderedDict[str, Tensor]):
    """Loss and logits by name, by attribute and by place, as `transformers.utils.ModelOutput`."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(f"no {name!r} in an output of {', '.join(self)}")

    def __getitem__(self, name: Any) -> Any:
        return super().__getitem__(name) if isinstance(name, str) else self.to_tuple()[name]

    def to_tuple(self) -> tuple[Tensor, ...]:
        """Give what there is, in order."""
        return tuple(super(Output, self).__getitem__(name) for name in self)


class HuggingFaceModel(nn.Module):
    """A model of the zoo with Hugging Face's keyword inputs.

    Args:
        model: classifies, tags, fills masks or writes.
    """

    main_input_name = "input_ids"

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model: Any = model

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        pixel_values: Tensor | None = None,
        input_values: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        labels: Tensor | None = None,
    ) -> Output:
        """Give logits, and with labels the mean loss over those that are not -100.

        Args:
            input_ids: tokens (b, n).
            attention_mask: 1 for tokens, or samples, that are there.
            token_type_ids: 1 for tokens of a second text.
            pixel_values: images (b, c, h, w).
            input_values: samples (b, t) at 16 kHz.
            decoder_input_ids: tokens (b, m) that a decoder with an encoder reads; the labels shifted if None.
            labels: classes (b) or (b, n); for a decoder alone the tokens themselves, which the loss shifts; for one
                with an encoder those that it is to write.

        Raises:
            InputError: If no input is given, or several, or that of another modality.
        """
        given = {"input_ids": input_ids, "pixel_values": pixel_values, "input_values": input_values}
        named = [name for name, value in given.items() if value is not None]
        if len(named) != 1:
            raise InputError(f"{' and '.join(named) or 'no input'} is given: one of {', '.join(given)} is wanted")
        wanted = NAMES.get(next(iter(_input_names(self.model)), ""))
        if wanted not in (None, named[0]):
            raise InputError(f"{named[0]} of a {type(self.model).__name__}, which reads {wanted}")
        inputs = self._inputs(given[named[0]], attention_mask, token_type_ids, named[0])
        if self._crosses:
            inputs += (self._shifted(labels) if decoder_input_ids is None else decoder_input_ids,)
        if has_own_loss(self.model):
            return self._own(inputs, labels)
        logits = self.model(*inputs)
        return _output(None if labels is None else self._loss(logits, labels), logits)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.model.parameters()).device

    def gradient_checkpointing_enable(self, **options: Any) -> None:
        """Let blocks keep only their inputs for the backward pass, as the model's `set_grad_checkpointing`.

        Args:
            options: of torch's own checkpointing, which is not used.

        Raises:
            ConfigError: If the model has no blocks.
        """
        self.model.set_grad_checkpointing(True)

    def gradient_checkpointing_disable(self) -> None:
        """Let blocks keep what the backward pass needs."""
        self.model.set_grad_checkpointing(False)

    def _inputs(self, first: Any, mask: Tensor | None, types: Tensor | None, name: str) -> tuple[Any, ...]:
        if name == "pixel_values":
            return (first,)
        if name == "input_values":
            return (first,) if mask is None else (first, mask.long().sum(1))
        valid = None if mask is None else mask.bool()
        return (first, valid) if types is None or not bool(types.any()) else (first, valid, types)

    @property
    def _crosses(self) -> bool:
        """Whether a decoder reads an encoder."""
        return getattr(self.model, "decoder", None) is not None and getattr(self.model, "encoder", None) is not None

    @property
    def _writes(self) -> bool:
        """Whether the model is a decoder alone."""
        return getattr(self.model, "decoder", None) is not None and getattr(self.model, "encoder", None) is None

    def _shifted(self, labels: Tensor | None) -> Tensor:
        """Give the labels behind a begin, with padding for what has no label."""
        if labels is None:
            raise InputError("neither labels nor decoder_input_ids for a model with encoder and decoder")
        symbols = getattr(self.model, "symbols", SYMBOLS)
        begin = torch.full_like(labels[:, :1], symbols.bos)
        return torch.cat([begin, labels[:, :-1].masked_fill(labels[:, :-1] == IGNORED, symbols.pad)], 1)

    def _loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        if self._writes:
            logits, labels = logits[:, :-1], labels[:, 1:]
        if getattr(getattr(self.model, "spec", None), "task", None) == "multi-label":
            return binary_cross_entropy(logits, labels)
        return cross_entropy(logits, labels)

    def _own(self, inputs: tuple[Any, ...], labels: Tensor | None) -> Output:
        loss = None if labels is None else self.model.training_loss(inputs, labels, 0.0)
        return _output(loss, self.model(*inputs))


def hf(model: Any) -> HuggingFaceModel:
    """Give a model the keyword inputs and outputs of Hugging Face: `input_ids`, `pixel_values`, … to `loss`, `logits`.

    Its Trainer, `accelerate` and evaluation loops then take any model of the zoo but those of graphs, whose inputs have
    other names. The weights are shared: what is trained is the model itself.

    Args:
        model: as `zoo.create` makes it.

    Raises:
        ConfigError: If it is no model, such as a name, or reads no text, image or sound.
    """
    if not isinstance(model, nn.Module):
        raise ConfigError(f"zoo.hf({model!r}): give the model itself, such as zoo.hf(zoo.create('vit-small'))")
    spec = getattr(model, "spec", None)
    names = _input_names(model)
    if "edge_index" in names:
        raise ConfigError(
            f"zoo.hf of {spec.name if spec else type(model).__name__!r}, which reads {', '.join(names)}: Hugging Face "
            "has no names for these; call the model itself"
        )
    return HuggingFaceModel(model)


def _input_names(model: Any) -> list[str]:
    """Give the names of a model's inputs; none where it does not tell them."""
    names = getattr(model, "input_names", None)
    return list(names()) if callable(names) else []


def _output(loss: Tensor | None, logits: Tensor) -> Output:
    return Output({"logits": logits} if loss is None else {"loss": loss, "logits": logits})
