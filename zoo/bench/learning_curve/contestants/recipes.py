"""Training hyperparameters of a learning-curve study: one recipe for every contestant, whatever mixes its vectors.

Pretrained weights and linear probes have one of their own, which differs in optimizer, decay and the grid of rates.
Equal for all are the optimizer, batch size, optimizer steps at each size, schedule, decay, clipping, validation and
the grid of learning rates; the rate is each contestant's own, chosen on validation (see `tuning`).

No recipe augments: the pictures of `cards` are drawn shifted and noisy, each once, so shifting them again would add
little and blur what a number of examples means; and of the user's data we do not know which change leaves a label
alone. `--augment` switches the source's augmentation on, for all models alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from zoo.spec import Kind, ModelSpec

Start = Literal["scratch", "pretrained", "probe"]
"""From what a contestant is trained: random weights, others' weights, or those with only a classifier to train."""
BY_KIND = "by-kind"
"""In place of an optimizer: that of the recipe which each kind of model had in studies before they had one for all."""
OPTIMIZERS = ("muon-hidden", "adamw", "muon", BY_KIND)
RATES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
"""The grid of learning rates, the same for every optimizer, and for all that start from scratch."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Hold the training of a contestant."""

    optimizer: str
    learning_rate: float = 3e-3
    """Peak, where no sweep has chosen one."""
    weight_decay: float = 0.05
    batch_size: int = 32
    warmup: float = 0.1
    """Share of the steps."""
    augment: bool = False
    tuned: bool = True
    """Whether the rate is chosen on validation, where the user does not say."""
    rates: Sequence[float] = RATES
    """Of which it is chosen, as many for every contestant."""
    start: Start = "scratch"
    reason: str


RECIPE = Recipe(
    optimizer="muon-hidden",
    reason="the same for every contestant from scratch: Muon for matrices and for convolution kernels, flattened to "
    "matrices, and AdamW for the rest. Muon leaves self-attention's first plateau in a third of AdamW's steps; "
    "warm-up, since the first gradients of attention are large and one-sided; no decay on biases and norms",
)
FINE_TUNING = Recipe(
    optimizer="adamw",
    learning_rate=3e-4,
    weight_decay=0.0,
    rates=(3e-5, 1e-4, 3e-4, 1e-3, 3e-3),
    start="pretrained",
    reason="for pretrained weights: AdamW as in zoo train, since Muon fine-tunes what Adam has trained no better "
    "(arXiv:2502.16982 sec. 3.5); rates a thirtieth of those from scratch, from BERT's (arXiv:1810.04805 app. A.3) to "
    "those that small networks take; no decay, which pulls away from what was learned (arXiv:2010.11929 app. B.1.1)",
)
PROBING = Recipe(
    optimizer="adamw",
    weight_decay=0.0,
    start="probe",
    reason="for a linear probe (arXiv:2103.00020 sec. 3.2): its problem is convex, so the loop of the others, with "
    "their steps, grid of rates and choice of the checkpoint, takes the place of L-BFGS",
)
_FORMER = "by its kind, as in studies before: "
FORMER: dict[Kind, Recipe] = {
    "convolution": Recipe(optimizer="adamw", tuned=False, reason=f"{_FORMER}AdamW, for kernels too"),
    "attention": Recipe(optimizer="muon", tuned=False, reason=f"{_FORMER}Muon for matrices"),
    "hybrid": Recipe(optimizer="muon", tuned=False, reason=f"{_FORMER}Muon for matrices, not for kernels"),
    "recurrent": Recipe(optimizer="adamw", tuned=False, reason=f"{_FORMER}AdamW"),
}
"""Recipes of `--optimizer by-kind`."""


def recipe_for(spec: ModelSpec, optimizer: str | None, start: Start = "scratch") -> Recipe:
    """Give the recipe of a contestant.

    Args:
        spec: of the model.
        optimizer: one for all contestants, in place of the recipe's; or `by-kind`.
        start: from what it is trained.
    """
    if optimizer == BY_KIND and start == "scratch":
        return FORMER[spec.kind]
    recipe = {"scratch": RECIPE, "pretrained": FINE_TUNING, "probe": PROBING}[start]
    if optimizer in (None, BY_KIND, recipe.optimizer):
        return recipe
    return replace(recipe, optimizer=optimizer, reason="the optimiser was chosen with --optimizer, the same for all")
