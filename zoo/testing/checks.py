"""Conformance checks of models, one function each; an AssertionError describes the violation."""

import copy
import io
import pickle
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jaxtyping
import pytest
import torch
from torch import Tensor, nn

from zoo.core.models.model import has_own_loss
from zoo.testing import graph_inputs
from zoo.testing import inputs as parts
from zoo.testing.inputs import Inputs


@torch.no_grad()
def answer(model: Any, inputs: Inputs) -> Tensor:
    """Run a model in evaluation mode without gradients."""
    return model.eval()(*inputs)


def same(left: Tensor, right: Tensor, what: str) -> None:
    """Check that two answers are equal up to rounding."""
    assert left.shape == right.shape, f"{what}: shapes {tuple(left.shape)} and {tuple(right.shape)} differ"
    far = (left - right).abs().max().item() if left.numel() else 0.0
    # not <=, because NaN is larger and smaller than nothing
    assert far <= 1e-4 * max(1.0, right.abs().max().item() if right.numel() else 0.0), f"{what}: differs by {far:.2g}"


def check_answer(model: nn.Module, inputs: Inputs, task: str, num_classes: int | None, batch_size: int) -> None:
    """Check shape and values of the answer."""
    y = answer(model, inputs)
    assert torch.isfinite(y).all(), "the answer holds NaN or infinity"
    if task in ("classify", "multi-label") and num_classes:
        assert y.shape == (batch_size, num_classes), f"answer of shape {tuple(y.shape)}, not {batch_size, num_classes}"
    same(answer(model, inputs), y, "asked twice in evaluation")


@torch.no_grad()
def check_features(model: Any, inputs: Inputs) -> None:
    """Check the vectors before the head, and those between the blocks."""
    features = model.eval().forward_features(*inputs)
    assert features.shape[-1] == model.num_features, f"features {tuple(features.shape)}, {model.num_features=}"
    last, states = model.forward_intermediates(*inputs)
    same(last, features, "forward_intermediates and forward_features")
    assert states, "forward_intermediates gives no states"
    assert all(state.ndim == features.ndim for state in states), f"states are not all of {features.ndim} axes"
    ((first,)) = model.forward_intermediates(*inputs, indices=[0])[1]
    same(first, states[0], "indices=[0]")
    assert len(model.forward_intermediates(*inputs, indices=1)[1]) == 1, "indices=1 does not give one state"


def check_attention_maps(model: Any, inputs: Inputs) -> None:
    """Check that rows of attention weights sum to 1, or to 0."""
    for at, weights in enumerate(model.eval().attention_maps(*inputs)):
        assert weights.ndim == 4, f"map {at} has shape {tuple(weights.shape)}, not (batch, heads, query, key)"
        rows = weights.float().sum(-1)
        off = torch.minimum((rows - 1).abs(), rows.abs()).max().item() if rows.numel() else 0.0
        assert off <= 1e-3, f"rows of map {at} sum to neither 1 nor 0, off by {off:.2g}"


def check_gradients(model: Any, inputs: Inputs) -> None:
    """Check that every parameter is reached, by the answer or by the loss of a model that brings its own."""
    torch.manual_seed(0)
    model.train()
    if has_own_loss(model):
        model.training_loss(inputs, _target(inputs[-1]), 0.1).backward()
    else:
        y = model(*inputs)
        (y * torch.randn_like(y)).sum().backward()
    without = [name for name, p in model.named_parameters() if p.requires_grad and p.grad is None]
    assert not without, f"no gradient: {', '.join(without)}"
    wild = [name for name, p in model.named_parameters() if p.grad is not None and not torch.isfinite(p.grad).all()]
    assert not wild, f"gradient with NaN or infinity: {', '.join(wild)}"


def _target(last: Tensor) -> Tensor:
    """Give a target for what a model writes: the tokens themselves, or, of numbers, that no step is the last."""
    return torch.zeros(last.shape[:2], dtype=torch.long) if last.is_floating_point() else last


def check_batch_mates(model: nn.Module, inputs: Inputs) -> None:
    """Check that an item's answer is the same alone and in a batch."""
    together = answer(model, inputs)
    index = 0
    while index < len(together) and (found := parts.item(inputs, index, len(together))) is not None:
        alone, own = found
        same(answer(model, alone), together[own], f"item {index} alone and in its batch")
        index += 1
    if not index:
        pytest.skip("the inputs have no common first axis")


def check_padding(model: nn.Module, inputs: Inputs) -> None:
    """Check that NaN in the padding does not leak."""
    other = parts.poisoned(inputs)
    if other is None:
        pytest.skip("the inputs have no padding")
    lengths = parts.lengths(inputs)
    assert lengths is not None
    clean, dirty = answer(model, inputs), answer(model, other)
    if clean.ndim == 3 and clean.shape[1] == inputs[0].shape[1]:
        mask = (torch.arange(clean.shape[1]) < lengths[:, None])[..., None]
        clean, dirty = (y.masked_fill(~mask, 0.0) for y in (clean, dirty))
    same(dirty, clean, "with other values in the padding")


@torch.no_grad()
def check_causal(model: Any, inputs: Inputs) -> None:
    """Check that no vector reads a later one."""
    start = inputs[0].shape[1] // 2
    before = model.eval().forward_features(*inputs)[:, :start]
    after = model.forward_features(*parts.with_other_future(inputs, start))[:, :start]
    same(after, before, "claims to be causal; with another future")


@torch.no_grad()
def check_permutation(model: Any, inputs: Inputs) -> None:
    """Check that vectors in another order give the same vectors in that order."""
    other, order = parts.permuted(inputs)
    straight = model.eval().forward_features(*inputs)[:, order]
    same(model.forward_features(*other)[:, : len(order)], straight, "claims to be permutation-equivariant")


def check_classifier(model: Any, inputs: Inputs) -> None:
    """Check that the classifier can be replaced, and left out."""
    model.reset_classifier(7)
    assert answer(model, inputs).shape[-1] == 7, "reset_classifier(7) does not give 7 scores"
    assert model.num_classes == 7, f"after reset_classifier(7), num_classes={model.num_classes}"
    model.reset_classifier(0)
    assert answer(model, inputs).shape[-1] == model.num_features, "reset_classifier(0) does not give features"


def check_copies(model: nn.Module, inputs: Inputs) -> None:
    """Check that a copy, and a pickled and restored one, answer alike."""
    y = answer(model, inputs)
    same(answer(copy.deepcopy(model), inputs), y, "a deep copy")
    buffer = io.BytesIO(pickle.dumps(model))
    same(answer(pickle.load(buffer), inputs), y, "a pickled copy")


def check_bfloat16(model: nn.Module, inputs: Inputs) -> None:
    """Check that a model of bfloat16 gives finite answers of bfloat16."""
    y = answer(model.to(torch.bfloat16), parts.converted(inputs, dtype=torch.bfloat16))
    assert y.dtype == torch.bfloat16, f"in bfloat16, the answer is {y.dtype}"
    assert torch.isfinite(y).all(), "in bfloat16, the answer holds NaN or infinity"


def check_export(model: nn.Module, inputs: Inputs) -> None:
    """Check that torch.export catches the whole model."""
    if graph_inputs.are_graphs(inputs):
        pytest.skip("edges are values, which an exported program cannot look at")
    with _unchecked(), warnings.catch_warnings():
        # PyTorch warns of its own recurrent layers, which assign the same weights again.
        warnings.filterwarnings("ignore", "The tensor attributes .*_flat_weights")
        exported = torch.export.export(model.eval(), inputs)
        same(exported.module()(*inputs), answer(model, inputs), "exported")


def check_compile(model: nn.Module, inputs: Inputs) -> None:
    """Check that torch.compile changes no answer; it may cut the graph, and no machine code is made."""
    torch.compiler.reset()
    with _unchecked(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Where warnings are errors, those of the compiler would end it.
        compiled = torch.compile(model, backend="aot_eager")
        same(answer(compiled, inputs), answer(model, inputs), "compiled")


@contextmanager
def _unchecked() -> Iterator[None]:
    """Switch off the checks of shapes at run time, which the compiler cannot read."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", before)
