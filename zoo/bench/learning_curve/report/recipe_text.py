"""How a model of a study was trained, in a sentence: everything that a reader needs to judge whether it was fair."""

from collections.abc import Mapping

from zoo.bench.learning_curve.results.entries import ModelEntry
from zoo.bench.learning_curve.results.study import Study
from zoo.bench.learning_curve.training.tuning import Tuning
from zoo.names import counted

_OPTIMIZERS: Mapping[str, str] = {
    "muon-hidden": "Muon on matrices and on convolution kernels flattened to matrices, and AdamW on the rest "
    "(muon-hidden)",
    "muon": "Muon on matrices, and AdamW on the rest (muon)",
    "adamw": "AdamW on all parameters (adamw)",
}
_AUGMENTATION: Mapping[bool | None, str] = {
    None: "augmentation as the data have it",
    True: "the augmentation of the source",
    False: "no augmentation",
}


def recipe_text(study: Study, entry: ModelEntry) -> str:
    """Say how a model was trained, and how its learning rate was chosen at what cost."""
    recipe = entry.recipe
    optimizer = entry.optimizer or recipe.optimizer
    few, most = min(study.steps.values()), max(study.steps.values())
    steps = counted(most, "step") if few == most else f"{few:,} to {most:,} steps, more at larger sizes"
    return (
        f"{_started(entry)}{_OPTIMIZERS.get(optimizer, optimizer)}, "
        f"at a peak learning rate of {entry.learning_rate:g}, "
        f"{_chosen(entry.tuning)}. {steps[0].upper()}{steps[1:]}, in batches of {recipe.batch_size:,}, with warm-up "
        f"over the first {100 * recipe.warmup:g} % of them; weight decay {recipe.weight_decay:g}; "
        f"{_AUGMENTATION[entry.augment]}{_computed(study, entry.name)}."
    )


def _started(entry: ModelEntry) -> str:
    """Say what is trained, and from which weights; nothing of a model that is trained from scratch."""
    weights = f"the weights of {entry.weights}" if entry.weights else "random weights, which know nothing"
    return {
        "scratch": "",
        "pretrained": f"All of the model, from {weights}, with a new classifier: ",
        "probe": f"A linear classifier on the vectors of the model, frozen with {weights}: ",
    }[entry.recipe.start]


def _chosen(tuning: Tuning | None) -> str:
    if tuning is None:
        return "which is the recipe's: none was chosen on validation"
    rates = ", ".join(f"{rate:g}" for rate, _ in tuning.scores)
    where = "for the package" if tuning.kept else "in this study"
    return (
        f"the best on validation of {rates}: {counted(tuning.runs, 'pilot run')} of "
        f"{counted(tuning.steps, 'step')} on {counted(tuning.size, 'example')} {where}, "
        f"{tuning.seconds:,.0f} s of training in all"
    )


def _computed(study: Study, name: str) -> str:
    """Give the precisions and devices that the finished runs name."""
    runs = [run for size in study.sizes for run in study.runs(name, size) if "precision" in run]
    found = sorted({f"{run['precision']} on {run['device']}" for run in runs})
    return f"; precision {' and '.join(found)}" if found else ""
