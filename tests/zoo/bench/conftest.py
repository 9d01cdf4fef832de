import resource
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zoo.bench.learning_curve.results.entries import Data, ModelEntry, with_costs
from zoo.bench.learning_curve.results.study import Study
from zoo.bench.learning_curve.training.tested import pack, pack_classes, unpack
from zoo.data.subsets import Reference
from zoo.spec import Kind


@pytest.fixture
def make_study(tmp_path: Path) -> Callable[..., Study]:
    """Make a study of two models with records drawn from given accuracies."""

    def make(
        cnn: list[float],
        vit: list[float],
        sizes: tuple[int, ...] = (100, 300, 1000, 3000),
        seeds: int = 3,
        failed: Sequence[tuple[str, int]] = (),
    ) -> Study:
        rng = np.random.default_rng(0)
        records: list[dict[str, Any]] = []
        for name, accuracies in (("cnn", cnn), ("vit", vit)):
            for size, accuracy in zip(sizes, accuracies, strict=True):
                for seed in range(seeds):
                    correct = rng.random(500) < accuracy
                    config = {"model": name, "size": size, "seed": seed, "steps": 10}
                    record: dict[str, Any] = {
                        "config": config,
                        "accuracy": float(correct.mean()),
                        "correct": pack(correct),
                    }
                    record |= {"validation": record["accuracy"] - 0.125, "best_step": 7, "seconds": size / 8 + seed}
                    record |= {"examples_per_second": 100.0, "parameters": 1000, "multiply_adds": 2_000_000}
                    records.append({"config": config, "error": "no memory"} if (name, size) in failed else record)
        kinds: dict[str, Kind] = {"cnn": "convolution", "vit": "attention"}
        rivals = [ModelEntry(name=name, kind=kind, learning_rate=1e-3) for name, kind in kinds.items()]
        return Study(
            models=[with_costs(rival, records) for rival in rivals],
            data=Data(name="toy", description="Toys <of> wood.", num_classes=10, reference=Reference(0.6, "guesses")),
            steps=dict.fromkeys(sizes, 10),
            seeds=seeds,
            records=records,
            folder=tmp_path,
        )

    return make


@pytest.fixture
def by_class() -> Callable[[Study], Study]:
    """Tell the classes of the test examples of a study, of which the last is the hardest, and a log-loss."""

    def told(study: Study) -> Study:
        records = []
        for record in study.records:
            if "error" not in record:
                right = np.sort(unpack(record["correct"]))[::-1]
                classes = np.arange(len(right)) * study.data.num_classes // len(right)
                loss = 1 - record["accuracy"] + record["config"]["seed"] / 8
                record = {**record, "correct": pack(right), "classes": pack_classes(classes), "log_loss": loss}
            records.append(record)
        return replace(study, records=records)

    return told


@pytest.fixture
def limited_file_size() -> Callable[[int], AbstractContextManager[None]]:
    """Limit the size of files, bytes, while a block runs: what is larger fails as on a full disk."""

    @contextmanager
    def limited(size: int) -> Iterator[None]:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return limited


@pytest.fixture(autouse=True)
def _light(one_thread: None) -> None: ...
