"""Point clouds of files, and a corpus of labelled clouds in memory."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from zoo import DataError, InputError, ModelSpec
from zoo.data import (
    Batch,
    BatchedCorpus,
    DatasetInfo,
    by_text,
    complete,
    evaluation_mode,
    fingerprint,
    names_of,
    token_scores,
)


class Cloud(NamedTuple):
    """Points (n, 3) with a label, and a name by which the split knows them."""

    name: str
    label: str
    points: Tensor


class CloudCorpus(BatchedCorpus):
    """Labelled clouds; in training each is turned about the vertical axis at random."""

    task, metric = "classify", "accuracy"

    def __init__(self, about: DatasetInfo, spec: ModelSpec, parts: Mapping[str, Sequence[Cloud]]) -> None:
        super().__init__(about, spec, {part: torch.tensor([len(c.points) for c in own]) for part, own in parts.items()})
        self.parts = parts
        self.labels = names_of((cloud.label for cloud in parts["train"]), self.name)
        unknown = {cloud.label for own in parts.values() for cloud in own} - {*self.labels}
        if unknown:
            raise DataError(f"{self.name}: no training example has the labels {', '.join(sorted(unknown))}")

    def examples(self, split: str, places: Sequence[int], generator: torch.Generator | None) -> Batch:
        """See `BatchedCorpus.examples`."""
        clouds = [self.parts[split][place] for place in places]
        points = [cloud.points if generator is None else turned(cloud.points, generator) for cloud in clouds]
        return Batch(collate(points), torch.tensor([self.labels.index(cloud.label) for cloud in clouds]))

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """See `BatchedCorpus.score`."""
        with evaluation_mode(model) as device:
            found = token_scores(model, self.held_out(split, batch_size), device)
        return {"accuracy": found.accuracy, "loss": found.loss}


def turned(points: Tensor, generator: torch.Generator) -> Tensor:
    """Turn points about the third axis by a random angle."""
    angle = 6.2832 * torch.rand((), generator=generator)
    cos, sin = angle.cos(), angle.sin()
    x, y, z = points.unbind(-1)
    return torch.stack([cos * x - sin * y, sin * x + cos * y, z], -1)


def collate(clouds: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Pad clouds to the largest: points (batch, points, 3) and their numbers."""
    return pad_sequence(list(clouds), batch_first=True), torch.tensor([len(cloud) for cloud in clouds])


def read_cloud(path: str | Path | BinaryIO) -> Tensor:
    """Read lines `x y z` of a file, or of an open one; what stands behind them, such as colours, is left out.

    Raises:
        InputError: If there is a line of another kind, or none.
    """
    try:
        data = Path(path).read_bytes() if isinstance(path, str | Path) else path.read()
        rows = [line.split()[:3] for line in data.decode("utf-8").splitlines() if line.strip()]
        points = torch.tensor([[float(cell) for cell in row] for row in rows])
    except (OSError, ValueError) as error:
        raise InputError(f"{str(path)!r} cannot be read: {error}") from error
    if points.ndim != 2 or points.shape[1] != 3 or not points.isfinite().all():
        raise InputError(f"{str(path)!r} has no lines of three numbers")
    return points


def preprocess(config: Mapping[str, Any], train: bool) -> Callable[[Any], tuple[Tensor, Tensor]]:
    """Give what reads one file or a list of files."""

    def prepared(raw: Any) -> tuple[Tensor, Tensor]:
        return collate([read_cloud(path) for path in ([raw] if isinstance(raw, str | Path) else raw)])

    return prepared


def open_folder(argument: str, spec: ModelSpec, seed: int, tokenizer: str) -> CloudCorpus:
    """Open `clouds:DIR`."""
    root = Path(argument).expanduser()
    paths = sorted(root.glob("*/*.xyz"))
    if not paths:
        raise DataError(f"{argument!r} has no files CLASS/NAME.xyz: make a folder for each class, with its clouds")
    clouds = [Cloud(path.relative_to(root).as_posix(), path.parent.name, read_cloud(path)) for path in paths]
    parts = complete({"train": clouds}, lambda cloud: cloud.name, seed, argument, draw=by_text)
    digest = fingerprint([str(seed), *(f"{cloud.name} {cloud.points.tolist()}" for cloud in clouds)])
    return CloudCorpus(DatasetInfo(argument, f"{len(clouds):,} clouds.", digest), spec, parts.by_name())
