"""Training hyperparameters of a learning-curve study, for each kind of model, with the reasons.

Held equal for all: batch size, optimiser steps at each size, schedule, gradient clipping, validation protocol.
`zoo bench data-size --lr-sweep` repeats that choice on any data.

No recipe augments: the pictures of `cards` are drawn shifted and noisy, each once, so shifting them again would add
little and blur what a number of examples means; and of the user's data we do not know which change leaves a label
alone. `--augment` switches the source's augmentation on, for all models alike.
"""

from dataclasses import dataclass

from zoo.spec import Kind


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Hold the training of one kind of model."""

    learning_rate: float
    optimizer: str = "adamw"
    weight_decay: float = 0.05
    batch_size: int = 32
    warmup: float = 0.1
    """Share of the steps."""
    augment: bool = False
    reason: str


RECIPES: dict[Kind, Recipe] = {
    "convolution": Recipe(
        learning_rate=3e-3,
        reason="batch norms allow a high rate; AdamW, because torch's Muon takes matrices and a kernel is none",
    ),
    "attention": Recipe(
        learning_rate=3e-3,
        optimizer="muon",
        reason="Muon leaves self-attention's first plateau in a third of AdamW's steps; warm-up, since the first "
        "gradients of attention are large and one-sided; decay on matrices only",
    ),
    "hybrid": Recipe(
        learning_rate=3e-3,
        optimizer="muon",
        reason="as attention, whose training is the more delicate of its two parts",
    ),
}

SWEEP = (1 / 3, 1.0, 3.0)
"""Factors of the recipe's learning rate that `--lr-sweep` tries."""
