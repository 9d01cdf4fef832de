"""Defaults of a training that depend on model, data and machine: optimizer, schedule, learning rate, steps."""

from dataclasses import replace

from torch import nn

from zoo.core.mechanisms.alignment.hard import hard_alignments
from zoo.core.mechanisms.hard_attention import hard_layers
from zoo.data.corpus import Corpus
from zoo.errors import ConfigError
from zoo.spec import ModelSpec
from zoo.training.config import Settings
from zoo.training.optimization.optimizers import noam_peak

EPOCHS, MOST_STEPS = 20, 2000
"""Epochs, and the most steps, where neither steps nor epochs are given."""
VALIDATIONS = 10
WARMUP, ONE_CYCLE_WARMUP = 0.1, 0.3
"""Share of the steps that is warm-up; with one cycle that of PyTorch's `OneCycleLR`."""
LONGEST_WARMUP = 4000
WEIGHT_DECAY, SGD_WEIGHT_DECAY = 0.05, 5e-4
"""Decoupled from the gradient, and part of it as in SGD, which multiplies it with a larger learning rate."""
SMOOTHING = 0.1
"""Label smoothing of models that generate: arXiv:1706.03762 sec. 5.4."""


def resolved(
    given: Settings,
    spec: ModelSpec,
    corpus: Corpus,
    model: nn.Module,
    per_epoch: float,
    *,
    tuned: bool,
    precision: str,
    workers: int = 0,
) -> Settings:
    """Choose the settings that are None.

    Attention models trained from scratch take Muon, which leaves their first plateau in a third of the steps of AdamW
    (see `zoo.bench.learning_curve.contestants.recipes`), and hybrids take it for their kernels, too; pretrained weights
    are fine-tuned by AdamW at a small learning rate.

    Args:
        given: settings of the user.
        spec: of the model.
        corpus: the data.
        model: what is trained.
        per_epoch: optimizer steps in an epoch.
        tuned: whether the weights are pretrained.
        precision: what `auto` means on this machine.
        workers: that suit this machine, for data that are read from files.

    Raises:
        ConfigError: If values do not fit each other.
    """
    epochs = EPOCHS if given.epochs is None else given.epochs
    steps = given.steps or max(1, round(epochs * per_epoch))
    if given.steps is None and given.epochs is None:
        steps = min(steps, MOST_STEPS)
    optimizer = given.optimizer or _optimizer(given, spec, tuned, precision)
    if optimizer in ("muon", "muon-hidden") and precision == "16-mixed":
        raise ConfigError(f"{optimizer=} with precision='16-mixed': its two optimizers cannot share a loss scale; "
                          "take bf16-mixed, or adamw")  # fmt: skip
    schedule = given.schedule or ("cosine" if tuned else "trapezoid")
    warmup = given.warmup or _warmup(schedule, steps)
    rate = given.learning_rate or _learning_rate(schedule, optimizer, model, warmup, tuned)
    smoothing = given.label_smoothing
    if smoothing is None:
        own = getattr(model, "label_smoothing", None)
        smoothing = own if own is not None else SMOOTHING if corpus.task == "generate" else 0.0
    return replace(
        given,
        steps=steps,
        epochs=None,
        optimizer=optimizer,
        schedule=schedule,
        warmup=warmup,
        learning_rate=rate,
        weight_decay=_weight_decay(optimizer) if given.weight_decay is None else given.weight_decay,
        label_smoothing=smoothing,
        reinforce=_reinforce(given, model),
        workers=(workers if getattr(corpus, "reads_files", False) else 0) if given.workers is None else given.workers,
        validations=min(steps, given.validations or VALIDATIONS),
        precision=precision,
    )


def _optimizer(given: Settings, spec: ModelSpec, tuned: bool, precision: str) -> str:
    if given.schedule == "noam":
        return "adam"
    if spec.kind in ("convolution", "recurrent") or tuned or precision == "16-mixed":
        return "adamw"
    return "muon-hidden" if spec.kind == "hybrid" else "muon"  # hybrids have kernels, or no blocks at all


def _warmup(schedule: str, steps: int) -> int:
    if schedule == "one-cycle":
        return max(1, round(ONE_CYCLE_WARMUP * steps))
    return max(1, min(LONGEST_WARMUP, round(WARMUP * steps)))


def _weight_decay(optimizer: str) -> float:
    return SGD_WEIGHT_DECAY if optimizer == "sgd" else WEIGHT_DECAY


def _reinforce(given: Settings, model: nn.Module) -> float | None:
    """Train the choices of hard attention, where there is any."""
    return 1.0 if given.reinforce is None and (hard_layers(model) or hard_alignments(model)) else given.reinforce


def _learning_rate(schedule: str, optimizer: str, model: nn.Module, warmup: int, tuned: bool) -> float:
    dim = getattr(model, "num_features", None)
    if schedule == "noam" and isinstance(dim, int):
        return noam_peak(dim, warmup)
    if optimizer == "sgd":
        return 0.01 if tuned else 0.1
    if tuned:
        return 1e-4
    return 1e-3 if optimizer == "adam" else 3e-3
