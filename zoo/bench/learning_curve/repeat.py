"""The command that makes a study again, for its report."""

import shlex
from pathlib import Path

from zoo.bench.grid.threads import DEFAULT, VARIABLE, threads_of
from zoo.bench.learning_curve.config import StudyConfig
from zoo.bench.learning_curve.plan import SEEDS
from zoo.bench.learning_curve.results.study import Study


def command_for(config: StudyConfig, folder: Path, lr_sweep: bool | None = None) -> str:
    """Write the command that runs the same study."""
    seeds = SEEDS if config.seeds is None else config.seeds
    words = ["zoo", "bench", "data-size", "--models", ",".join(config.models), "--data", config.data]
    words += ["--sizes", ",".join(map(str, config.sizes))] if config.sizes else []
    words += ["--seeds", str(seeds), "--out", str(folder)]
    words += ["--steps", str(config.steps)] if config.steps else []
    words += ["--image-size", str(config.image_size)] if config.image_size else []
    words += ["--precision", config.precision] if config.precision != "auto" else []
    words += ["--device", config.device] if config.device != "auto" else []
    words += ["--optimizer", config.optimizer] if config.optimizer else []
    words += ["--class-ratio", str(config.labelling.ratio)] if config.labelling.ratio else []
    words += ["--label-noise", str(config.label_noise)] if config.label_noise else []
    words += ["--augment"] if config.augment else []
    words += [] if lr_sweep is None else ["--lr-sweep" if lr_sweep else "--no-sweep"]
    return shlex.join(words)


def with_threads(study: Study, command: str) -> str:
    """Write the number of threads in front of a command, where all runs of its study had another than the default."""
    threads = {threads_of(record) for record in study.records}
    return f"{VARIABLE}={threads.pop()} {command}" if len(threads) == 1 and threads != {DEFAULT} else command
