"""`Postprocess`: from the outputs of graph models to labels or numbers of graphs, nodes or links."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from zoo import InputError
from zoo.data import labels_of, names_for, ranked


class Postprocess:
    """Turn a model's output into labels or text.

    Args:
        config: of the model: its `task`, and the `target` that it was trained for; `repository` says where its
            labels.json lies.

    Raises:
        WeightsError: If the names of labels are not as many as the model has.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = dict(config)
        self.labels = labels_of(config)
        self.task = config.get("task", "classify")
        self.target = config.get("target", "class")

    def __call__(self, answer: Tensor, batch: Tensor | None = None) -> list[Any]:
        """Give, for each graph or link, the probabilities of its labels, the likeliest first, or its numbers by name.

        Nodes get the label that is likeliest, all that are likelier than not, or their numbers.

        Args:
            answer: scores (graphs, nodes or links; labels), or one for each link.
            batch: the graph of each node: labels of nodes then come in a list for each graph.

        Raises:
            InputError: If the answer is none of these.
        """
        if self.task == "link" and answer.ndim == 1:
            probable: list[float] = answer.float().sigmoid().tolist()
            return probable
        if answer.ndim != 2 or not answer.shape[1]:
            raise InputError(f"an answer of shape {tuple(answer.shape)} is not one of scores (graphs or nodes, labels)")
        names = names_for(self.labels, answer.shape[1], self.config)
        rows = [self._read(row, names) for row in answer.float().cpu()]
        if self.task != "tag" or batch is None:
            return rows
        if batch.shape != answer.shape[:1]:
            raise InputError(f"batch of shape {tuple(batch.shape)} for an answer of {len(answer)} nodes")
        found: list[list[Any]] = [[] for _ in range(int(batch.max()) + 1 if len(batch) else 0)]
        for graph, row in zip(batch.tolist(), rows, strict=True):
            found[graph].append(row)
        return found

    @staticmethod
    def batch_of(*inputs: Any) -> Tensor:
        """Return the graph of each node, of inputs as `preprocess` gave them."""
        batch: Tensor = inputs[3]
        return batch

    def _read(self, row: Tensor, names: Sequence[str]) -> Any:
        if self.target == "numbers":
            return dict(zip(names, row.tolist(), strict=True))
        if self.target == "labels":
            chances = row.sigmoid()
            if self.task == "tag":
                return [name for name, chance in zip(names, chances.tolist(), strict=True) if chance > 0.5]
            return ranked(chances, names)
        return names[int(row.argmax())] if self.task == "tag" else ranked(row.softmax(0), names)
