"""How a training goes: what can be set, and what is taken where nothing is said."""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from torch import nn

from zoo.data.corpus import Corpus
from zoo.errors import ConfigError
from zoo.spec import ModelSpec
from zoo.training.optimizers import OPTIMIZERS, SCHEDULES, Schedule, noam_peak, schedule_for

EPOCHS, MOST_STEPS = 20, 2000
"""Over the data, and at most so many steps, where neither steps nor epochs are given."""
VALIDATIONS = 10
WARMUP = 0.1
"""Share of the steps in which the learning rate rises, and at most so many of them:"""
LONGEST_WARMUP = 4000
SMOOTHING = 0.1
"""arXiv:1706.03762 sec. 5.4, of models that write."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Hold all that decides how a training goes; None where it is still to be chosen by `resolved`.

    Args:
        steps: of the optimisers.
        epochs: passes over the training examples, instead of steps.
        batch_size: examples in a batch, on each device.
        learning_rate: the highest.
        optimizer: `adam`, `adamw` or `muon`.
        schedule: `constant`, `cosine`, `noam` or `trapezoid`.
        warmup: steps in which the learning rate rises.
        weight_decay: of matrices.
        precision: `auto`, `32-true`, `bf16-mixed`, `16-mixed`, `bf16-true`, `64-true`.
        accumulate: batches whose gradients one step adds up.
        clip: largest norm of the gradient.
        label_smoothing: share of the right answer that is spread over all, in [0, 1).
        scheduled_sampling: rate of the model's own words in the decoder's input at the end, in [0, 1].
        corrupt: rate of wrong words in the decoder's input, in [0, 1].
        guided_attention: weight of the diagonal prior on attention.
        monotonic: weight of the penalty on attention that goes back.
        patience: validations without a better score until it ends; None for never.
        validations: how often the model is validated.
        seed: decides the weights, the order and the split.
        tokenizer: of texts: `byte`, `char`, `word`, `bpe:8000`, `wordpiece:8000`, a path; empty for the data's own.
    """

    steps: int | None = None
    epochs: float | None = None
    batch_size: int = 32
    learning_rate: float | None = None
    optimizer: str | None = None
    schedule: str | None = None
    warmup: int | None = None
    weight_decay: float | None = None
    precision: str = "auto"
    accumulate: int = 1
    clip: float = 1.0
    label_smoothing: float | None = None
    scheduled_sampling: float = 0.0
    corrupt: float = 0.0
    guided_attention: float = 0.0
    monotonic: float = 0.0
    patience: int | None = None
    validations: int | None = None
    seed: int = 0
    tokenizer: str = ""

    def __post_init__(self) -> None:
        for name in ("steps", "batch_size", "warmup", "accumulate", "patience", "validations"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name}={value}: at least 1 is needed")
        for name in ("epochs", "learning_rate", "clip"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigError(f"{name}={value}: more than 0 is needed")
        for name in ("epochs", "learning_rate"):
            if getattr(self, name) == math.inf:
                raise ConfigError(f"{name}=inf: a finite number is needed")
        for name in ("weight_decay", "guided_attention", "monotonic"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise ConfigError(f"{name}={value}: a finite number of at least 0 is needed")
        for name in ("scheduled_sampling", "corrupt"):
            if not 0 <= (value := getattr(self, name)) <= 1:
                raise ConfigError(f"{name}={value}: a rate in [0, 1] is needed")
        if self.label_smoothing is not None and not 0 <= self.label_smoothing < 1:
            raise ConfigError(f"label_smoothing={self.label_smoothing} is not in [0, 1)")
        if self.seed < 0:
            raise ConfigError(f"seed={self.seed} is negative")
        for name, known in (("optimizer", OPTIMIZERS), ("schedule", SCHEDULES)):
            if getattr(self, name) not in (None, *known):
                raise ConfigError(f"{name}={getattr(self, name)!r} is not one of {', '.join(known)}")
        if self.steps is not None and self.epochs is not None:
            raise ConfigError(f"steps={self.steps} and epochs={self.epochs}: give one of them")

    def to_dict(self) -> dict[str, Any]:
        """Give the settings as JSON values."""
        return {name: str(value) if value == math.inf else value for name, value in asdict(self).items()}

    def make_schedule(self) -> Schedule:
        """Make the schedule of resolved settings."""
        assert self.schedule
        assert self.steps
        assert self.warmup
        return schedule_for(self.schedule, self.steps, self.warmup)


def resolved(
    given: Settings, spec: ModelSpec, corpus: Corpus, model: nn.Module, per_epoch: float, *, tuned: bool, precision: str
) -> Settings:
    """Fill in what was not given.

    Models of attention that start from nothing take Muon, which leaves their first plateau in a third of the steps
    AdamW needs (see `zoo.bench.learning_curve.recipes`); weights that were trained before take small steps of AdamW.

    Args:
        given: by the user.
        spec: of the model.
        corpus: the data.
        model: what is trained.
        per_epoch: steps in an epoch.
        tuned: whether the weights were trained before.
        precision: what `auto` means here.

    Raises:
        ConfigError: If values do not fit each other.
    """
    epochs = EPOCHS if given.epochs is None else given.epochs
    steps = given.steps or max(1, round(epochs * per_epoch))
    if given.steps is None and given.epochs is None:
        steps = min(steps, MOST_STEPS)
    optimizer = given.optimizer or _optimizer(given, spec, tuned, precision)
    if optimizer == "muon" and precision == "16-mixed":
        raise ConfigError("optimizer='muon' with precision='16-mixed': its two optimisers cannot share a loss scale; "
                          "take bf16-mixed, or adamw")  # fmt: skip
    schedule = given.schedule or ("cosine" if tuned else "trapezoid")
    warmup = given.warmup or max(1, min(LONGEST_WARMUP, round(WARMUP * steps)))
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
        weight_decay=0.05 if given.weight_decay is None else given.weight_decay,
        label_smoothing=smoothing,
        validations=min(steps, given.validations or VALIDATIONS),
        precision=precision,
    )


def _optimizer(given: Settings, spec: ModelSpec, tuned: bool, precision: str) -> str:
    if given.schedule == "noam":
        return "adam"
    return "muon" if spec.kind != "convolution" and not tuned and precision != "16-mixed" else "adamw"


def _learning_rate(schedule: str, optimizer: str, model: nn.Module, warmup: int, tuned: bool) -> float:
    dim = getattr(model, "num_features", None)
    if schedule == "noam" and isinstance(dim, int):
        return noam_peak(dim, warmup)
    if tuned:
        return 1e-4
    return 1e-3 if optimizer == "adam" else 3e-3
