"""Gradient-weighted attention, arXiv:2103.15679 sec. 3: which inputs an answer depends on, by weights times gradients.

The rules join the layers: R_ss += Ā R_ss (eq. 6), R_ts += Ā R_ts (eq. 7) and R_ts += R̄_ttᵀ Ā R̄_ss (eq. 10), where
Ā = mean over heads of the positive part of ∇A ⊙ A (eq. 5). ∇A needs no weights in the graph of autograd: of y = A V it
is ∇y Vᵀ, so that every backend of attention serves.
Axes: h heads, q queries, k keys, s vectors of the source, t of the target.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from zoo.core.engine.tracing import rows_apart
from zoo.core.layers.attention import Attention
from zoo.core.layers.protocol import WeighsPairs
from zoo.core.mechanisms.gated_cross import GatedAttention
from zoo.errors import ConfigError
from zoo.viz.recorder import Part, part_of

Score = Callable[[Tensor], Tensor]
"""From a model's answer to the number that is explained."""
FORWARDS = (Attention.forward, GatedAttention.forward)
"""Of layers whose heads' answers pass `out`, and no more than a factor behind it."""


@dataclass(frozen=True)
class Relevance:
    """Relevance of each vector (column) for each (row), with the identity that stands for a vector itself.

    Args:
        source: among the encoder's vectors; None without an encoder.
        target: among the decoder's; None without a decoder.
        cross: of the encoder's for the decoder's; None without cross-attention.
    """

    source: Float[Tensor, "s s"] | None
    target: Float[Tensor, "t t"] | None
    cross: Float[Tensor, "t s"] | None


@dataclass
class _Used:
    """Hold a use of a layer, and a probe whose gradient is that of the heads' answers."""

    part: Part
    weights: Float[Tensor, "h q k"]
    values: Float[Tensor, "k h d"]
    probe: Tensor = field(default_factory=lambda: torch.zeros(0))


def largest_scores(answer: Tensor) -> Tensor:
    """Sum the largest score of each place of the first row: the class, the tags or the tokens that are answered."""
    return answer[0].amax(-1).sum()


def scores_of(written: Sequence[tuple[int, int]]) -> Score:
    """Sum the scores of tokens that were written, each in the row that was read when it was.

    Args:
        written: row of the answer, and token.
    """
    rows, tokens = zip(*written, strict=True)
    return lambda answer: answer[0, list(rows), list(tokens)].sum()


def gradient_weighted(model: nn.Module, inputs: Sequence[Any], score: Score = largest_scores) -> Relevance:
    """Explain a number that is computed from the answer of a model, for the first row of inputs.

    Args:
        model: whose attention is `zoo.core.Attention` with softmax.
        inputs: as for `forward`.
        score: what is explained.

    Raises:
        ConfigError: If the model has other attention, or none.
    """
    with _probed(model) as uses, torch.enable_grad(), rows_apart():
        total = score(model(*inputs))
    if not uses:
        raise ConfigError("gradient-weighted attention of a model without attention")
    if not total.requires_grad:
        raise ConfigError("gradient-weighted attention of an answer that has no gradient")
    found = torch.autograd.grad(total, [use.probe for use in uses], allow_unused=True)
    weighted = []
    for use, gradient in zip(uses, found, strict=True):
        heads = use.values.shape[1]
        given = torch.zeros_like(use.probe) if gradient is None else gradient
        by_weight = torch.einsum("qhd,khd->hqk", given[0].unflatten(-1, (heads, -1)), use.values)
        weighted.append((use.part, (by_weight * use.weights).clamp(min=0).mean(0).cpu()))
    return joined(weighted)


def joined(layers: Sequence[tuple[Part, Float[Tensor, "_ _"]]]) -> Relevance:
    """Join the weighted attention Ā of layers, in the order of use.

    Args:
        layers: whose attention, and Ā.

    Raises:
        ConfigError: If a decoder reads other vectors than those of the encoder.
    """
    source: Tensor | None = None
    target: Tensor | None = None
    cross: Tensor | None = None
    for part, weights in layers:
        if part == "encoder":
            source = _added(source, weights)
        elif part == "decoder":
            target = _added(target, weights)
            cross = None if cross is None else cross + weights @ cross
        else:
            source = torch.eye(weights.shape[1], dtype=weights.dtype) if source is None else source
            if len(source) != weights.shape[1]:
                raise ConfigError(
                    f"gradient-weighted attention of a decoder that reads {weights.shape[1]} means of "
                    f"{len(source)} vectors"
                )
            target = torch.eye(weights.shape[0], dtype=weights.dtype) if target is None else target
            read = _normed(target).T @ weights @ _normed(source)
            cross = read if cross is None else cross + read
    return Relevance(source, target, cross)


def _added(found: Tensor | None, weights: Tensor) -> Tensor:
    found = torch.eye(len(weights), dtype=weights.dtype) if found is None else found
    return found + weights @ found


def _normed(found: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    """Norm the rows of what was added to the identity, eq. 8 and 9; rows to which nothing was added stay."""
    eye = torch.eye(len(found), dtype=found.dtype)
    added = found - eye
    total = added.sum(-1, keepdim=True)
    return added / total.where(total > 0, 1) + eye


@contextmanager
def _probed(model: nn.Module) -> Iterator[list[_Used]]:
    """Note the uses of attention, and add zeros with a gradient to what their heads answer."""
    uses: list[_Used] = []

    def note(path: str, layer: Attention, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        tokens, context = given[0], given[1] if len(given) > 1 else named.get("context")
        with torch.no_grad():
            weights = layer.weights(tokens, context)[0]
            values = layer.inputs(tokens, context, None).v[0]
        values = values.repeat_interleave(layer.num_heads // layer.kv_heads, dim=1)
        uses.append(_Used(part_of(path, layer, context), weights, values))

    def probe(module: nn.Module, given: tuple[Any, ...]) -> tuple[Tensor]:
        uses[-1].probe = torch.zeros_like(given[0], requires_grad=True)
        return (given[0] + uses[-1].probe,)

    hooks = []
    for path, module in list(model.named_modules()):
        if not isinstance(module, WeighsPairs):
            continue
        layer: Any = module
        if type(layer).forward not in FORWARDS or layer.norm != "softmax":
            raise ConfigError(
                "gradients weight softmax attention only, and this model attends in another way, as recurrent decoders "
                "and linear attention do"
            )
        hooks.append(layer.register_forward_pre_hook(partial(note, path), with_kwargs=True))
        hooks.append(layer.out.register_forward_pre_hook(probe))
    try:
        yield uses
    finally:
        for hook in hooks:
            hook.remove()
