"""Hard attention of recurrent decoders: a step reads one vector, in training a drawn one, arXiv:1502.03044 sec. 4.1.

No gradient of an answer reaches the weights; REINFORCE estimates it from what `record_alignments` collects.
Axes: b rows, m steps, k vectors of the source, d channels.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from zoo.core.errors import ConfigError
from zoo.core.losses.reinforce import log_probability
from zoo.core.mechanisms.alignment.alignment import Alignment, Memory
from zoo.core.mechanisms.alignment.scores import AlignmentScore
from zoo.core.mechanisms.alignment.windows import AlignmentWindow
from zoo.core.mechanisms.hard_attention import collecting
from zoo.core.scoring.normalizers import Hard, choose


@dataclass
class Choices:
    """What hard attention chose in a training step.

    Args:
        soft: rows that read the soft weights and choose nothing.
        log_probabilities: of the choices, a tensor a call; 0 of rows that choose nothing.
        entropies: of what was drawn from, as many.
    """

    soft: Bool[Tensor, " b"]
    log_probabilities: list[Float[Tensor, "b m"]] = field(default_factory=list)
    entropies: list[Float[Tensor, "b m"]] = field(default_factory=list)


class HardAlignment(Alignment):
    """Read one vector of the source at each step: a drawn one in training, the best in evaluation.

    Weights of a window with a Gaussian are normed again, since only what sums to 1 can be drawn from.

    Args:
        score: compares state and source.
        window: what may be read; all of the source if None.
    """

    choices: Choices | None = None
    """Collects what is drawn, while `record_alignments` is open."""
    baseline: Float[Tensor, " 1"]
    """The moving average of the reward, arXiv:1502.03044 eq. 12; saved, so that a training resumes exactly."""

    def __init__(self, score: AlignmentScore, window: AlignmentWindow | None = None) -> None:
        super().__init__(score, window)
        self.register_buffer("baseline", torch.zeros(1))

    def forward(
        self, query: Float[Tensor, "b m d"], memory: Memory, steps: Int[Tensor, "#b m"]
    ) -> Float[Tensor, "b m k"]:
        """Give 1 for what is read and 0 for the rest; the soft weights of rows that read these.

        Raises:
            ConfigError: If gradients are wanted in training and nothing collects the choices that they cannot reach.
        """
        weights = super().forward(query, memory, steps)
        weights = weights / weights.sum(-1, keepdim=True).clamp(min=torch.finfo(weights.dtype).tiny)
        if self.choices is None and self.training and torch.is_grad_enabled():
            raise ConfigError(
                "choice='hard' in training without the objective that trains its choices, REINFORCE: use zoo train, or "
                "zoo.train, with reinforce= above 0; or record_alignments in a training of your own"
            )
        if self.choices is None or not self.training:
            return choose(weights, Hard())
        drawn, soft = choose(weights, Hard(sample=True)), self.choices.soft
        log = weights.clamp(min=torch.finfo(weights.dtype).tiny).log()
        self.choices.log_probabilities.append(log_probability(drawn, weights).masked_fill(soft[:, None], 0))
        self.choices.entropies.append(-(weights * log).sum(-1))
        return torch.where(soft[:, None, None], weights, drawn)


def hard_alignments(model: nn.Module) -> list[HardAlignment]:
    """List the hard attentions of recurrent decoders."""
    return [part for part in model.modules() if isinstance(part, HardAlignment)]


@contextmanager
def record_alignments(model: nn.Module, soft: Bool[Tensor, " b"]) -> Iterator[Choices]:
    """Collect what the hard attention of a recurrent decoder chooses in training.

    Args:
        model: any module with a `HardAlignment` in it.
        soft: rows of the batch that read the soft weights instead.
    """
    choices = Choices(soft)
    with collecting(hard_alignments(model), choices):
        yield choices
