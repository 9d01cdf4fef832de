"""`StudyConfig`: the settings of a learning-curve study, and their checks before anything is trained."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from lightning_fabric import Fabric

from zoo.bench.learning_curve.contestants.contestant import Contestant
from zoo.bench.learning_curve.contestants.probe import check_probed
from zoo.bench.learning_curve.contestants.recipes import OPTIMIZERS
from zoo.bench.learning_curve.training.run import build
from zoo.bench.learning_curve.training.tuning import SEED
from zoo.data.corpus import Corpus
from zoo.data.labelling.labelling import Labelling
from zoo.data.subsets import StudyInfo
from zoo.errors import ConfigError, DataError, WeightsError
from zoo.names import counted

PRECISIONS = ("auto", "32-true", "bf16-mixed", "bf16-true", "16-mixed", "16-true", "64-true")
MODELS = ("resnet-micro", "vit-micro", "hybrid-micro")


@dataclass(frozen=True, kw_only=True)
class StudyConfig:
    """Hold what the user asked for; None leaves the choice to us."""

    models: Sequence[str] = MODELS
    data: str = "cards"
    sizes: Sequence[int] | None = None
    seeds: int | None = None
    image_size: int | None = None
    steps: int | None = None
    precision: str = "auto"
    device: str = "auto"
    optimizer: str | None = None
    """Of all models; None: the recipe's."""
    augment: bool = False
    class_ratio: str | float | Sequence[float] = ""
    """Of training and validation examples, see `ClassRatio`; empty for that of the data."""
    label_noise: float = 0.0
    """Probability with which their labels are replaced by other classes."""

    @property
    def labelling(self) -> Labelling:
        """Give both as one; see `Labelling.of` for its errors."""
        return Labelling.of(self.class_ratio, self.label_noise)


def check_config(config: StudyConfig) -> None:
    """Refuse numbers and names that fit no study."""
    for what, number in (("seeds", config.seeds), ("steps", config.steps), ("image_size", config.image_size)):
        if number is not None and number < 1:
            raise ConfigError(f"{what}={number}: at least 1 is needed")
    if config.seeds is not None and config.seeds > SEED:
        raise ConfigError(f"seeds={config.seeds}: at most {SEED:,}, since seed {SEED} chooses the learning rates")
    for what, choice, known in (
        ("precision", config.precision, PRECISIONS),
        ("optimizer", config.optimizer, (None, *OPTIMIZERS)),
    ):
        if choice not in known:
            raise ConfigError(f"{what}={choice!r} is not one of {', '.join(filter(None, known))}")
    _ = config.labelling  # refused where it cannot be read
    if not config.models:
        raise ConfigError("no models: name at least one, for instance --models resnet-micro,vit-micro")
    for what, values in (("models", config.models), ("sizes", config.sizes or ())):
        if twice := _repeated(values):
            raise ConfigError(f"{what}: {twice[0]} is named twice")


def check_size(size: int, data: str, info: StudyInfo) -> None:
    """Refuse a size that the data do not have."""
    if size < max(1, info.num_classes):
        raise ConfigError(f"sizes: {size} is less than one example for each of the {info.num_classes} classes")
    if info.limit is not None and size > info.limit:
        raise DataError(
            f"{counted(size, 'training example')} asked for, {data!r} has {info.limit:,} besides validation and test: "
            f"ask for at most {info.limit:,} with --sizes"
        )


def check_hardware(device: str, precision: str) -> None:
    """Refuse a precision that the device does not have."""
    logging.getLogger("lightning_fabric").setLevel(logging.ERROR)  # announces what is asked for
    try:
        Fabric(accelerator=device, devices=1, precision=precision)  # type: ignore[arg-type]
    except Exception as error:  # of several kinds, from Lightning and from torch
        raise ConfigError(
            f"--device {device} --precision {precision} cannot be used here: {error}; choose others, or leave both out"
        ) from error


def check_fit(name: str, corpus: Corpus) -> None:
    """Build a model without memory and show it the shape of the images."""
    side = corpus.overrides()["image_size"]
    try:
        _try(name, corpus, side)
    except Exception as error:  # whatever a model says to images it cannot read
        fitting = next((other for other in _other_sizes(side) if _fits(name, corpus, other)), None)
        advice = f"try --image-size {fitting}" if fitting else "choose another size with --image-size"
        raise ConfigError(f"{name!r} cannot read images of {side} x {side}: {error}; {advice}") from error


def check_start(contestant: Contestant, corpus: Corpus) -> None:
    """Make what starts from weights, or is probed, once: whatever does not fit is told before anything is trained.

    Raises:
        ConfigError: If the model, or its weights, does not fit the data.
    """
    if contestant.start == "scratch":
        return
    if contestant.probed:
        check_probed(contestant, corpus)
    try:
        build(contestant.name, corpus)
    except (ConfigError, WeightsError) as error:
        read, given = (each.get("in_chans") for each in (contestant.spec.config, corpus.overrides()))
        channels = f" (it reads images of {read} channels, these have {given})" if read and read != given else ""
        raise ConfigError(f"{contestant.name!r} does not fit the data {corpus.name!r}{channels}: {error}") from error


def _try(name: str, corpus: Corpus, side: int) -> None:
    try:
        model = build(name, corpus, device="meta", image_size=side).eval()
        with torch.no_grad():
            model(torch.empty(2, corpus.overrides()["in_chans"], side, side, device="meta"))
    except (NotImplementedError, RuntimeError) as error:
        if "meta" not in str(error):  # a model that needs values: a forward without memory then says nothing
            raise


def _fits(name: str, corpus: Corpus, side: int) -> bool:
    try:
        _try(name, corpus, side)
    except Exception:  # as above
        return False
    return True


def _other_sizes(side: int) -> list[int]:
    """List sizes to propose: the next multiples of usual patches, then the usual sizes of large images."""
    return [*sorted({-(-side // patch) * patch for patch in (4, 8, 14, 16, 32)} - {side}), 224, 256, 384]


def _repeated(values: Iterable[object]) -> list[object]:
    seen: set[object] = set()
    return [value for value in values if value in seen or seen.add(value)]  # type: ignore[func-returns-value]
