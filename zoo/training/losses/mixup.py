"""Mixup of what a model answers, or of sounds, for data that cannot mix their own examples as pictures do."""

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.distributions import Beta

from zoo.core.losses.loss import IGNORED
from zoo.core.models.model import has_own_loss
from zoo.data.corpus import Batch
from zoo.errors import ConfigError
from zoo.training.objective import Objective


class Mixup:
    """Ask for a mixture of two examples, and weigh the losses of both targets by the shares.

    Vectors that the last layer reads are mixed: arXiv:1806.05236 with that layer alone, arXiv:1905.08941 (senMixup) of
    texts. The last layer is affine, so that its scores are mixed instead, which is the same whatever the layers before
    it are; of a head that copies, logarithms of probabilities are. Where each token, word or node has a target, each is
    mixed with another one that has. Of sounds whose loss the model computes itself (CTC) the waveforms are mixed, and
    both transcripts are asked for, which takes two passes: arXiv:2102.12664 eq. 4, there of spectrograms. The share of
    a batch is drawn from Beta(alpha, alpha).

    Args:
        objective: the loss of an answer, or of the model itself; asked once for each of the two targets.
        model: in training.
        alpha: above 0; small ones mix little.

    Raises:
        ConfigError: If the model computes its loss itself, and not by CTC of sounds.
    """

    def __init__(self, objective: Objective, model: nn.Module, alpha: float) -> None:
        self.objective, self.alpha = objective, alpha
        given: Any = model
        if has_own_loss(model) and not (hasattr(model, "emit") and given.input_names()[0] == "sounds"):
            raise ConfigError(
                f"mixup={alpha} of {type(model).__name__}, which computes its loss itself: only sounds that are "
                "transcribed by CTC are mixed there; leave it out"
            )

    def __call__(self, forward: Any, batch: Batch, step: int) -> Tensor:
        """Give the loss."""
        share = float(Beta(self.alpha, self.alpha).sample())
        if has_own_loss(forward):
            return self._of_sounds(forward, batch, step, share)
        answer, other = mixed(forward(*batch.inputs), batch.target, share)
        losses = [self.objective(lambda *_: answer, batch._replace(target=t), step) for t in (batch.target, other)]
        return share * losses[0] + (1 - share) * losses[1]

    def _of_sounds(self, forward: Any, batch: Batch, step: int, share: float) -> Tensor:
        sounds, lengths, *rest = batch.inputs
        order = torch.randperm(len(sounds), device=sounds.device)
        both = torch.lerp(sounds[order], sounds, share), torch.maximum(lengths, lengths[order])
        other = Batch((*both, *(ids[order] for ids in rest)), batch.target[order])  # a decoder reads its own transcript
        losses = [self.objective(forward, each, step) for each in (batch._replace(inputs=(*both, *rest)), other)]
        return share * losses[0] + (1 - share) * losses[1]


def mixed(
    answer: Float[Tensor, "*places k"], target: Tensor, share: float
) -> tuple[Float[Tensor, "*places k"], Tensor]:
    """Mix each answer that has a target with another that has one, at random.

    Args:
        answer: scores, or numbers.
        target: a class for each place, -100 where there is none; or, of the answer's shape, labels or numbers, NaN
            where there is none.
        share: of the answer itself, in [0, 1].

    Returns:
        The mixtures, and the targets of the others. A number whose own target or the other's is missing is not mixed.

    Raises:
        ConfigError: If the shapes are others.
    """
    wanted = target.shape if target.is_floating_point() else (*target.shape, *answer.shape[-1:])
    if not target.ndim or answer.shape != wanted:
        shapes = f"an answer of shape {tuple(answer.shape)} and a target of {tuple(target.shape)}, {target.dtype}"
        raise ConfigError(f"mixup of {shapes}: scores of classes for each place, or a number for each, are mixed")
    if target.is_floating_point():
        partner = partners(~target.isnan().reshape(len(target), -1).all(1))
        other = target[partner]
        both = ~(target.isnan() | other.isnan())
        return torch.where(both, torch.lerp(answer[partner], answer, share), answer), torch.where(both, other, target)
    rows, targets = answer.reshape(-1, answer.shape[-1]), target.reshape(-1)
    partner = partners(targets != IGNORED)
    return torch.lerp(rows[partner], rows, share).view_as(answer), targets[partner].view_as(target)


def partners(known: Bool[Tensor, " n"]) -> Int[Tensor, " n"]:
    """Give each place one of its kind, known or not: a random order of each, drawn without a look at the values."""
    drawn = (torch.rand(len(known), device=known.device) + ~known).argsort()
    return torch.empty_like(drawn).scatter_(0, (~known).byte().argsort(stable=True), drawn)
