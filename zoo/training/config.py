"""`Settings` of a training: fields with default, help text and valid range. Imports no torch.

`zoo.train` takes its keywords from these fields, and `zoo train` its options.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from numbers import Integral, Real
from typing import Any, NamedTuple, get_args

from zoo.errors import ConfigError

OPTIMIZERS = ("adam", "adamw", "muon", "muon-hidden", "sgd")
SCHEDULES = ("constant", "cosine", "linear", "noam", "one-cycle", "trapezoid")
LOGGERS = ("csv", "tensorboard", "wandb")


class Limit(NamedTuple):
    """Valid values of a setting, and the error of others."""

    holds: Callable[[Any], bool]
    error: str


NUMBER = Limit(lambda value: value >= 0, "{name}={value}: at least 0 is needed")
COUNT = Limit(lambda value: value >= 1, "{name}={value}: at least 1 is needed")
POSITIVE = Limit(lambda value: value > 0, "{name}={value}: more than 0 is needed")
FINITE = Limit(lambda value: value < math.inf, "{name}={value}: a finite number is needed")
WEIGHT = Limit(lambda value: 0 <= value < math.inf, "{name}={value}: a finite number of at least 0 is needed")
FACTOR = Limit(lambda value: 0 < value <= 1, "{name}={value} is not in (0, 1]")
RATE = Limit(lambda value: 0 <= value <= 1, "{name}={value}: a rate in [0, 1] is needed")
SHARE = Limit(lambda value: 0 <= value < 1, "{name}={value} is not in [0, 1)")
BETWEEN = Limit(lambda value: 0 < value < 1, "{name}={value} is not between 0 and 1")
SEED = Limit(lambda value: value >= 0, "{name}={value} is negative")


def one_of(names: tuple[str, ...]) -> Limit:
    """Limit a setting to names."""
    return Limit(lambda value: value in names, f"{{name}}={{value!r}} is not one of {', '.join(names)}")


def setting(default: Any, help: str, *limits: Limit, shown: str | None = None) -> Any:
    """Declare a field of `Settings` or `Devices`.

    Args:
        default: its default; None where it is chosen when the training starts.
        help: one sentence for `zoo train --help` and `help(zoo.train)`.
        limits: of its values.
        shown: what help shows as the default, where it is chosen when the training starts.
    """
    return field(default=default, metadata={"help": help, "limits": limits, "shown": shown})


def check_type(name: str, value: Any, declared: Any) -> None:
    """Check that a value has the type of its field; whole numbers are numbers, truth values are not.

    Raises:
        ConfigError: If it has not.
    """
    kinds = get_args(declared) or (declared,)
    wider: dict[Any, type[Any]] = {int: Integral, float: Real}
    fits = isinstance(value, tuple(wider.get(kind, kind) for kind in kinds))
    if fits and not (isinstance(value, bool) and bool not in kinds):
        return
    words = {int: "a whole number", float: "a number", str: "a string", bool: "True or False"}
    wanted = " or ".join(words[kind] for kind in kinds if kind in words)
    names = value if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value) else ()
    text = str(value) if isinstance(value, int) else ",".join(names)
    written = f", such as {name}={text!r}" if str in kinds and text else ""
    shown = repr(value) if isinstance(value, str | int | float | list | tuple) else type(value).__name__
    raise ConfigError(f"{name}={shown}: {wanted} is wanted{written}")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a training; None where `zoo.training.defaults.resolved` chooses."""

    steps: int | None = setting(None, "Optimizer steps.", COUNT, shown="20 epochs, at most 2,000 steps")
    epochs: float | None = setting(None, "Passes over the training data, instead of steps.", POSITIVE, FINITE)
    batch_size: int = setting(32, "Examples in a batch on each device.", COUNT)
    accumulate: int = setting(1, "Gradient accumulation: batches for each optimizer step.", COUNT)
    learning_rate: float | None = setting(
        None,
        "Peak learning rate.",
        POSITIVE,
        FINITE,
        shown="3e-3; 1e-3 with adam, 0.1 with sgd; 1e-4 when fine-tuning, 0.01 with sgd",
    )
    optimizer: str | None = setting(
        None, f"Optimizer: {', '.join(OPTIMIZERS)}.", one_of(OPTIMIZERS), shown="muon; adamw for CNNs and fine-tuning"
    )
    schedule: str | None = setting(
        None,
        f"Learning-rate schedule: {', '.join(SCHEDULES)}.",
        one_of(SCHEDULES),
        shown="trapezoid; cosine when fine-tuning",
    )
    warmup: int | None = setting(
        None, "Warm-up steps.", COUNT, shown="a tenth of the steps, at most 4,000; with one-cycle 0.3 of them"
    )
    weight_decay: float | None = setting(
        None, "Weight decay of matrices and kernels; biases and norms have none.", WEIGHT, shown="0.05; 5e-4 with sgd"
    )
    clip: float = setting(1.0, "Maximum gradient norm; inf for no clipping.", POSITIVE)
    precision: str = setting(
        "auto", "Precision: 32-true, bf16-mixed, 16-mixed, bf16-true, 64-true, or auto: bf16-mixed where it is faster."
    )
    label_smoothing: float | None = setting(
        None, "Label smoothing, in [0, 1).", SHARE, shown="0.1 for generation, else 0"
    )
    scheduled_sampling: float = setting(
        0.0, "Scheduled sampling: final probability that the decoder reads its own prediction.", RATE
    )
    corrupt: float = setting(0.0, "Probability that a decoder input token is replaced by a random one.", RATE)
    guided_attention: float = setting(
        0.0, "Weight of the guided-attention loss, which favours diagonal cross-attention.", WEIGHT
    )
    monotonic: float = setting(0.0, "Weight of the loss that penalises cross-attention moving backwards.", WEIGHT)
    doubly_stochastic: float | None = setting(
        None,
        "Weight of the loss that asks cross-attention to read all of the source equally often, arXiv:1502.03044.",
        WEIGHT,
        shown="0",
    )
    doubly_stochastic_target: str | None = setting(
        None,
        "How often that is: 1 for each source token, or uniform: tokens of the target over those of the source.",
        one_of(("1", "uniform")),
        shown="1",
    )
    reinforce: float | None = setting(
        None,
        "Weight of the REINFORCE loss, which trains the choices of attention=hard and of choice=hard.",
        WEIGHT,
        shown="1 with hard attention, else 0",
    )
    reinforce_entropy: float | None = setting(
        None, "Weight of the entropy of what choice=hard draws from, arXiv:1502.03044 eq. 11.", WEIGHT, shown="0"
    )
    reinforce_draws: int | None = setting(
        None, "Draws of each example in a step of choice=hard, arXiv:1502.03044 eq. 9.", COUNT, shown="1"
    )
    freeze: str | None = setting(
        None,
        "Parts that are not trained: encoder (all but the head), stem, or patterns of parameter names with commas"
        " between, such as 'encoder.blocks.0.*'.",
        shown="none",
    )
    probe: bool | None = setting(
        None,
        "Linear probe: the vectors of each example are computed once, and scikit-learn fits a linear head on them; all"
        " other weights stay.",
        shown="no",
    )
    layer_decay: float | None = setting(
        None, "Factor of the learning rate from a layer to the one below it, such as 0.75.", FACTOR, shown="1"
    )
    lora: str | None = setting(
        None,
        "LoRA, arXiv:2106.09685: RANK or RANK:LAYERS, such as 8 or 8:q,v. Trains matrices of that rank beside layers,"
        " and the head; LAYERS are q, k, v, o, all, or patterns of names.",
        shown="none; LAYERS q,v",
    )
    ema: float | None = setting(
        None,
        "Moving average of the weights with this decay, such as 0.999; it is validated and saved in their place.",
        BETWEEN,
        shown="none",
    )
    class_weights: str | None = setting(
        None,
        "Weights of the classes in the loss: equal, or balanced, which lets rare ones count as much as frequent ones.",
        one_of(("equal", "balanced")),
        shown="equal",
    )
    checkpointing: bool | None = setting(
        None,
        "Activation checkpointing: blocks are computed again in the backward pass; less memory, about a third more"
        " time.",
        shown="no",
    )
    workers: int | None = setting(
        None,
        "Processes that read and prepare batches ahead; 0 for none. They do not change the result.",
        NUMBER,
        shown="0, and for data that are read from files half of the processors, all with an accelerator, at most 8",
    )
    augment: str | None = setting(
        None, "Augmentation of the training data, by names: such as none, or crop+mixup.", shown="that of the data"
    )
    mixup: float | None = setting(
        None,
        "Mixup, arXiv:1710.09412, of pairs of training examples with this alpha, such as 0.2.",
        POSITIVE,
        FINITE,
        shown="none",
    )
    cache: bool | None = setting(
        None,
        "Decode files before the first step, into a file that later trainings share.",
        shown="while they are read, where all fit in a quarter of the free memory",
    )
    validations: int | None = setting(None, "Number of validations, evenly spaced.", COUNT, shown="10")
    patience: int | None = setting(
        None,
        "Early stopping: stop after this many validations without improvement, once a score has moved.",
        COUNT,
        shown="never",
    )
    metric: str | None = setting(
        None,
        "Score that chooses the best checkpoint, such as accuracy or wer; at equal scores, a smooth one decides.",
        shown="that of the data",
    )
    logger: str | None = setting(
        None,
        f"Log losses, learning rates and scores, in the run folder: {', '.join(LOGGERS)}, several with commas between.",
        Limit(lambda value: {*value.split(",")} <= {*LOGGERS}, f"logger={{value!r}}: names are {', '.join(LOGGERS)}"),
        shown="none",
    )
    seed: int = setting(0, "Random seed of the initial weights, the data order and the data split.", SEED)
    tokenizer: str = setting(
        "",
        "Tokenizer: byte, char, word, bpe:8000, wordpiece:8000, or a tokenizer.json.",
        shown="that of the data",
    )

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            check_type(each.name, value, each.type)
            for limit in each.metadata["limits"] if value is not None else ():
                if not limit.holds(value):
                    raise ConfigError(limit.error.format(name=each.name, value=value))
        if self.steps is not None and self.epochs is not None:
            raise ConfigError(f"steps={self.steps} and epochs={self.epochs}: give one of them")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return {name: str(value) if value == math.inf else value for name, value in asdict(self).items()}


@dataclass(frozen=True, kw_only=True)
class Devices:
    """Devices of a training, as Lightning Fabric takes them."""

    devices: int | str | list[int] = setting("auto", "Number of devices, or their indices: 2, or 0,1.")
    strategy: str = setting(
        "auto", "Strategy for several devices: ddp, or fsdp, which shards weights, gradients and optimizer states."
    )
    num_nodes: int = setting(1, "Number of machines.")
    accelerator: str = setting("auto", "Accelerator: cpu, cuda, or auto.")


def split_off(kind: type[Any], given: dict[str, Any]) -> Any:
    """Make a dataclass of those keywords that are its fields, removing them from the dictionary."""
    return kind(**{each.name: given.pop(each.name) for each in fields(kind) if each.name in given})
