"""One run of the data-size study: a pure function of its configuration."""

import base64
import logging
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

import zoo
from zoo.core.flops import count
from zoo.data.corpus import Batch
from zoo.data.image_source import Examples, Source, open_source
from zoo.training.loop import Plan, fit, plain, shuffled
from zoo.training.optimizers import optimizers_for, trapezoid


@dataclass(frozen=True, kw_only=True)
class Run:
    """Hold all that decides the outcome of one training."""

    model: str
    data: str
    fingerprint: str
    image_size: int
    size: int
    seed: int
    steps: int
    batch_size: int
    optimizer: str
    learning_rate: float
    weight_decay: float
    warmup: float
    augment: bool
    precision: str
    device: str

    def to_dict(self) -> dict[str, Any]:
        """Give the configuration as JSON values."""
        return asdict(self)


def execute(config: dict[str, Any]) -> dict[str, Any]:
    """Train one model on one subset and test its best checkpoint; JSON in, JSON out."""
    run = Run(**config)
    logging.getLogger("lightning_fabric").setLevel(logging.ERROR)  # announces bf16 at every run
    fabric = Fabric(accelerator=run.device, devices=1, precision=run.precision)  # type: ignore[arg-type]
    torch.manual_seed(run.seed)
    source = _source(run.data, run.image_size)
    model = build(run.model, source)
    outcome = fit(
        model,
        plain(functional.cross_entropy),
        _batches(source, run),
        optimizers_for(run.optimizer, model, run.learning_rate, run.weight_decay),
        plan=Plan(steps=run.steps, schedule=trapezoid(run.steps, run.warmup)),
        fabric=fabric,
        validate=lambda model: {"accuracy": float(_correct(model, source.validation(), source, fabric).mean())},
    )
    correct = _correct(model.eval(), source.test(), source, fabric)
    return {
        "accuracy": float(correct.mean()),
        "validation": outcome.best_score,
        "best_step": outcome.best_step,
        "history": [[step, round(loss, 4), round(score, 4)] for step, loss, score, _ in outcome.history],
        "seconds": round(outcome.seconds, 3),
        "examples_per_second": round(run.steps * min(run.batch_size, run.size) / outcome.seconds, 1),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "multiply_adds": count(model, source.prepare(source.validation().inputs[:1])).multiply_adds,
        "device": str(fabric.device),
        "precision": run.precision,
        "threads": torch.get_num_threads(),
        "correct": pack(correct),
    }


def pack(correct: NDArray[np.bool_]) -> dict[str, Any]:
    """Write one bit for each test example."""
    return {"count": len(correct), "bits": base64.b64encode(np.packbits(correct).tobytes()).decode()}


def unpack(packed: dict[str, Any]) -> NDArray[np.bool_]:
    """Read what `pack` wrote."""
    bits = np.frombuffer(base64.b64decode(packed["bits"]), np.uint8)
    return np.unpackbits(bits, count=packed["count"]).astype(bool)


@lru_cache(maxsize=1)
def _source(data: str, image_size: int) -> Source:
    torch.set_flush_denormal(True)  # dying activations cost ten times as much otherwise
    return open_source(data).resized(image_size)


def build(name: str, source: Source, device: str | None = None, image_size: int | None = None) -> nn.Module:
    """Make a model that fits the data; CNNs hold their images channels-last, twice as fast on CPUs.

    Args:
        name: of the model.
        source: of the data.
        device: of the parameters.
        image_size: pixels along a side, by default the source's.
    """
    side = source.image_size if image_size is None else image_size
    fitting: dict[str, Any] = {"image_size": side} if "image_size" in zoo.info(name).config else {}
    model = zoo.create(name, num_classes=source.num_classes, in_chans=source.channels, device=device, **fitting)
    convolves = any(isinstance(module, nn.Conv2d) for module in model.modules())
    return model.to(memory_format=torch.channels_last) if convolves else model


def _batches(source: Source, run: Run) -> Iterator[Batch]:
    examples = source.train(run.size, run.seed)
    generator = torch.Generator().manual_seed(run.seed)
    for index in shuffled(len(examples.labels), run.batch_size, generator):
        inputs = source.prepare(examples.inputs[index])
        if run.augment:
            inputs = source.augment(inputs, generator)
        yield Batch((inputs,), examples.labels[index])


def _correct(model: nn.Module, examples: Examples, source: Source, fabric: Fabric) -> NDArray[np.bool_]:
    hits: list[Tensor] = []
    with torch.no_grad(), fabric.autocast():
        for inputs, labels in zip(examples.inputs.split(256), examples.labels.split(256), strict=True):
            answer = model(source.prepare(inputs).to(fabric.device))
            hits.append(answer.argmax(-1).cpu() == labels)
    return torch.cat(hits).numpy()
