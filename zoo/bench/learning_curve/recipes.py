"""Training hyperparameters of a learning-curve study: one recipe for every contestant, whatever mixes its vectors.

Equal for all are the optimizer, batch size, optimizer steps at each size, schedule, decay, clipping, validation and
the grid of learning rates; the rate is each contestant's own, chosen on validation (see `tuning`).

No recipe augments: the pictures of `cards` are drawn shifted and noisy, each once, so shifting them again would add
little and blur what a number of examples means; and of the user's data we do not know which change leaves a label
alone. `--augment` switches the source's augmentation on, for all models alike.
"""

from dataclasses import dataclass, replace

from zoo.spec import Kind, ModelSpec

BY_KIND = "by-kind"
"""In place of an optimizer: that of the recipe which each kind of model had in studies before they had one for all."""
OPTIMIZERS = ("muon-hidden", "adamw", "muon", BY_KIND)


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
    reason: str


RECIPE = Recipe(
    optimizer="muon-hidden",
    reason="the same for every contestant: Muon for matrices and for convolution kernels, flattened to matrices, and "
    "AdamW for the rest. Muon leaves self-attention's first plateau in a third of AdamW's steps; warm-up, since the "
    "first gradients of attention are large and one-sided; no decay on biases and norms",
)
_FORMER = "by its kind, as in studies before: "
FORMER: dict[Kind, Recipe] = {
    "convolution": Recipe(optimizer="adamw", tuned=False, reason=f"{_FORMER}AdamW, for kernels too"),
    "attention": Recipe(optimizer="muon", tuned=False, reason=f"{_FORMER}Muon for matrices"),
    "hybrid": Recipe(optimizer="muon", tuned=False, reason=f"{_FORMER}Muon for matrices, not for kernels"),
    "recurrent": Recipe(optimizer="adamw", tuned=False, reason=f"{_FORMER}AdamW"),
}
"""Recipes of `--optimizer by-kind`."""


def recipe_for(spec: ModelSpec, optimizer: str | None) -> Recipe:
    """Give the recipe of a contestant.

    Args:
        spec: of the model.
        optimizer: one for all contestants, in place of the recipe's; or `by-kind`.
    """
    if optimizer == BY_KIND:
        return FORMER[spec.kind]
    if optimizer is None or optimizer == RECIPE.optimizer:
        return RECIPE
    return replace(RECIPE, optimizer=optimizer, reason="the optimiser was chosen with --optimizer, the same for all")
