"""`zoo.train`, the function: what can be asked of a training; torch and Fabric are imported when it is called."""

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.errors import ConfigError
from zoo.registry.entry_loading import require
from zoo.spec import Requirement

if TYPE_CHECKING:
    from zoo.data.corpus import Corpus
    from zoo.training.trainer import Trained

TRAIN = (Requirement(module="lightning_fabric", distribution="lightning-fabric", install="attention-zoo[train]"),)


def train(
    name: str,
    data: "str | Corpus",
    out: str | Path | None = None,
    *,
    steps: int | None = None,
    epochs: float | None = None,
    batch_size: int = 32,
    learning_rate: float | None = None,
    optimizer: str | None = None,
    schedule: str | None = None,
    warmup: int | None = None,
    weight_decay: float | None = None,
    precision: str = "auto",
    accumulate: int = 1,
    clip: float = 1.0,
    label_smoothing: float | None = None,
    scheduled_sampling: float = 0.0,
    corrupt: float = 0.0,
    guided_attention: float = 0.0,
    monotonic: float = 0.0,
    patience: int | None = None,
    validations: int | None = None,
    seed: int = 0,
    resume: bool = False,
    overwrite: bool = False,
    tokenizer: str = "",
    weights: Any = None,
    pretrained: bool = False,
    devices: int | str | list[int] = "auto",
    strategy: str = "auto",
    num_nodes: int = 1,
    accelerator: str = "auto",
    progress: bool = False,
    command: str = "",
    **overrides: Any,
) -> "Trained":
    """Train a model on data.

    Args:
        name: of the model.
        data: a source such as `reverse`, `folder:PATH`, a path, or a corpus of one's own.
        out: folder for the model and all that is needed to go on; None keeps nothing.
        steps: see `zoo.training.config.Settings`, as for all up to `seed`.
        epochs: as there.
        batch_size: as there.
        learning_rate: as there.
        optimizer: as there.
        schedule: as there.
        warmup: as there.
        weight_decay: as there.
        precision: as there.
        accumulate: as there.
        clip: as there.
        label_smoothing: as there.
        scheduled_sampling: as there.
        corrupt: as there.
        guided_attention: as there.
        monotonic: as there.
        patience: as there.
        validations: as there.
        seed: as there.
        resume: go on with the training in `out`, as if it had never been interrupted; begin if there is none.
        overwrite: remove the training in `out` first.
        tokenizer: as in the settings.
        weights: to begin from, as for `zoo.create`.
        pretrained: begin from the published weights.
        devices: number or list of devices, for Lightning Fabric.
        strategy: such as `ddp`, or `fsdp`, which parts the weights among the devices, for Lightning Fabric.
        num_nodes: machines, for Lightning Fabric.
        accelerator: such as `cpu` or `cuda`, for Lightning Fabric.
        progress: whether to show progress.
        command: that repeats this, for the record.
        overrides: of the model's configuration.

    Raises:
        ConfigError: If a value does not fit, or `out` holds something else.
        DataError: If the data cannot be used.
        WeightsError: If weights or checkpoints cannot be read or written.
        MissingLibraryError: If a library is not there.
    """
    require("zoo train", TRAIN)
    from zoo.factory.keywords import handed_on
    from zoo.training.callbacks.run_folder import refuse_existing
    from zoo.training.config import Settings
    from zoo.training.distributed.devices import Place
    from zoo.training.trainer import Begin, Run, kept

    if not isinstance(data, str) and not all(hasattr(data, part) for part in ("task", "epoch", "batch", "score")):
        raise ConfigError(f"data={data!r} is neither the name of a source, a path, nor a corpus")
    given = Settings(
        steps=steps, epochs=epochs, batch_size=batch_size, learning_rate=learning_rate, optimizer=optimizer,
        schedule=schedule, warmup=warmup, weight_decay=weight_decay, precision=precision, accumulate=accumulate,
        clip=clip, label_smoothing=label_smoothing, scheduled_sampling=scheduled_sampling, corrupt=corrupt,
        guided_attention=guided_attention, monotonic=monotonic, patience=patience, validations=validations, seed=seed,
        tokenizer=tokenizer,
    )  # fmt: skip
    place = Place(devices, strategy, num_nodes, accelerator)
    begin = Begin(name, weights, pretrained, {key: value for key, value in overrides.items() if value is not None})
    folder = None if out is None else Path(out).expanduser()
    if resume and folder is None:
        raise ConfigError("resume=True without out=: there is no folder to go on from")
    if folder is not None and place.is_first:
        refuse_existing(folder, resume, overwrite, (name, weights))
    with kept(), handed_on("zoo.train", inspect.signature(train).parameters):
        return Run(begin, data, folder, given, place, resume, overwrite, progress, command).go()
