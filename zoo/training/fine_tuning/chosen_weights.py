"""What settings say of the weights that are trained: `freeze`, `lora`, `checkpointing`."""

from torch import nn

from zoo.core.transforms.freezing import freeze
from zoo.errors import ConfigError
from zoo.training.config import Settings
from zoo.training.fine_tuning.checkpointing import Checkpointed
from zoo.training.fine_tuning.freezing import KeepFrozen
from zoo.training.fine_tuning.low_rank import ComputedOnce, add_low_rank
from zoo.training.objective import Objective


def choose_weights(model: nn.Module, settings: Settings) -> None:
    """Freeze a model, and add matrices of low rank, as settings ask.

    Raises:
        ConfigError: If they do not fit the model, or each other.
    """
    if settings.freeze is not None and settings.lora is not None:
        raise ConfigError(
            f"freeze={settings.freeze!r} with lora={settings.lora!r}: lora leaves all weights but the head's as they "
            "are; name the layers that it changes behind a colon"
        )
    if settings.freeze is not None:
        freeze(model, settings.freeze)
    if settings.lora is not None:
        add_low_rank(model, settings.lora)


def adapted(objective: Objective, model: nn.Module, settings: Settings) -> Objective:
    """Give the objective of a training whose weights were chosen so."""
    if settings.freeze is not None:
        objective = KeepFrozen(objective)
    if settings.lora is not None and not settings.checkpointing:  # blocks are computed again after the step's sums
        objective = ComputedOnce(objective)
    return Checkpointed(objective, model) if settings.checkpointing else objective
