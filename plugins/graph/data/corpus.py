"""Base class of graph corpora: graphs with a target each, or with one for each node.

Axes: n nodes, e edges, k labels or numbers.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from inspect import signature
from typing import Any, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor, nn

from zoo import ConfigError, ModelSpec
from zoo.core import TARGETS
from zoo.data import Batch, BatchedCorpus, DatasetInfo, augmentation_names, evaluation_mode, to_device
from zoo.plugins.graph.data.augmentation import EDGES, NODES, augmented
from zoo.plugins.graph.data.examples import Example, Examples, HeldExamples, StoredExamples
from zoo.plugins.graph.data.metrics import JUDGES, SCORES
from zoo.plugins.graph.tokens.feature_encoders import Kinds
from zoo.registry import load

FIRST = {"class": "accuracy", "labels": "roc-auc", "numbers": "r2"}
"""The score that chooses the checkpoint, where nobody says another."""


class GraphTask(NamedTuple):
    """Task on graphs: targets, labels, features of nodes and edges, and metric.

    Args:
        task: `classify` (of each graph) or `tag` (of each node).
        target: one of `zoo.core.losses.loss.TARGETS`.
        labels: names of classes, labels or numbers.
        node_features: channels of `x`, or categories of each column; 0 for none.
        edge_features: the same of `edge_attr`.
        metric: the score that chooses the checkpoint; that of the target if empty.
        fitting: what else suits the data, of the keywords of models.
    """

    task: str
    target: str
    labels: Sequence[str]
    node_features: Kinds = 0
    edge_features: Kinds = 0
    metric: str = ""
    fitting: Mapping[str, Any] = {}


class GraphsCorpus(BatchedCorpus):
    """Serve graphs packed into batches of nearly equal size.

    Args:
        about: the data.
        spec: of the model.
        graph_task: what the model predicts.
        parts: its examples; one graph may be in each of them, with targets for other nodes.
    """

    augmentation: tuple[str, ...] = ()
    """Names of what changes the training examples."""

    def __init__(
        self,
        about: DatasetInfo,
        spec: ModelSpec,
        graph_task: GraphTask,
        parts: Mapping[str, Sequence[Example] | StoredExamples],
    ) -> None:
        self.parts: dict[str, Examples] = {
            name: part if isinstance(part, StoredExamples) else HeldExamples(part) for name, part in parts.items()
        }
        super().__init__(about, spec, {name: part.sizes for name, part in self.parts.items()})
        self.graph_task = graph_task
        self.task = graph_task.task
        self.labels = list(graph_task.labels)
        self.metric = graph_task.metric or FIRST[graph_task.target]
        self.units = _units(self.parts["train"].targets()) if graph_task.target == "numbers" else []

    def with_augmentation(self, names: str) -> "GraphsCorpus":
        """See `AugmentsByName`: `none`, or any of `drop-edges` and `mask-nodes`, with + between."""
        chosen = augmentation_names(names, ("none",), (EDGES, NODES))
        if "none" in chosen and len(chosen) > 1:
            raise ConfigError(f"augment={names!r}: 'none' is given alone")
        if NODES in chosen and not self.graph_task.node_features:
            raise ConfigError(f"augment={names!r}: the nodes of {self.name!r} have no features to mask")
        other = copy(self)
        other.augmentation = tuple(name for name in chosen if name != "none")
        return other

    def prepared_as(self, other: Any) -> "GraphsCorpus":
        """See `PreparesAs.prepared_as`: with the mean and deviation of other numbers."""
        prepared = copy(self)
        prepared.units = other.units if isinstance(other, GraphsCorpus) else self.units
        return prepared

    def overrides(self) -> dict[str, Any]:
        """Give the keywords for `zoo.create` that fit a model to the data."""
        features = {"node_features": self.graph_task.node_features, "edge_features": self.graph_task.edge_features}
        parameters = signature(load(self.spec)).parameters
        keywords = {**self.graph_task.fitting} | ({"units": self.units} if self.units else {})
        known = {key: value for key, value in keywords.items() if key in parameters}
        found = super().overrides() | features | known
        if self.graph_task.target != "class":
            found["target"] = self.graph_task.target
        return found

    def examples(self, split: str, places: Sequence[int], generator: torch.Generator | None) -> Batch:
        """Give graphs and their targets, one behind the other; a graph alone is given as it is."""
        graphs, targets = self.parts[split].batch(places)
        if self.augmentation and generator is not None:
            graphs = augmented(graphs, self.augmentation, generator)
        if self.task != "tag":
            return Batch(graphs, torch.stack(list(targets)))
        return Batch(graphs, targets[0] if len(targets) == 1 else torch.cat(list(targets)))

    def classes_of(self, split: str) -> Int[Tensor, " n"]:
        """See `KnowsClasses.classes_of`: of graphs with a class each, or of all their nodes."""
        targets = self.parts[split].targets()
        if self.task == "tag":
            return torch.cat([each.reshape(-1) for each in targets]).long()
        return (targets if isinstance(targets, Tensor) else torch.stack(list(targets))).long()

    def loss(self, answer: Tensor, target: Tensor, smoothing: float) -> Tensor:
        """Give the mean loss over the targets; numbers are divided by their standard deviation."""
        if self.units:
            deviation = answer.new_tensor([unit[1] for unit in self.units])
            answer, target = answer / deviation, target.to(answer.dtype) / deviation
        return TARGETS[self.graph_task.target](answer, target, smoothing)

    def score(self, model: nn.Module, split: str, batch_size: int) -> dict[str, float]:
        """Judge all answers together; the metric comes first."""
        answers, targets = [], []
        with evaluation_mode(model) as device:
            for batch in self.held_out(split, batch_size):
                inputs, target = to_device(batch, device)
                answers.append(model(*inputs).float().cpu())
                targets.append(target.cpu().clone())  # what a worker made keeps a file open as long as it is held
        found = JUDGES[self.graph_task.target](torch.cat(answers), torch.cat(targets))
        return {self.metric: found[self.metric], **found}

    def metrics(self, model: nn.Module) -> tuple[str, ...]:
        """Name the scores, the metric first."""
        return tuple(dict.fromkeys((self.metric, *SCORES[self.graph_task.target])))


def _units(targets: Tensor | Sequence[Tensor]) -> list[list[float]]:
    """Give the mean and the deviation of each number; 1 where all are one."""
    units = []
    rows = targets if isinstance(targets, Tensor) else torch.cat([each.reshape(-1, each.shape[-1]) for each in targets])
    for column in rows.double().T:
        known = column[~column.isnan()]
        spread = float(known.std(correction=0)) if len(known) else 0.0
        units.append([float(known.mean()) if len(known) else 0.0, spread or 1.0])
    return units
