"""`Probe`: a linear classifier on the vectors of a frozen model, the linear probe of arXiv:2103.00020 sec. 3.2.

There logistic regression is solved by L-BFGS, its regularisation chosen on validation. The problem is convex, so the
loop of the study reaches about the same classifier. It keeps steps, checkpoints and the budget of the rate the same for
all contestants, and serves every loss: one class, several labels, a label for each token.
"""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float
from lightning_fabric import Fabric
from torch import Tensor, nn

from zoo.bench.learning_curve.contestants.contestant import Contestant
from zoo.core.losses.loss import IGNORED
from zoo.data.batches.batched_corpus import evaluation_mode
from zoo.data.content_digest import content_digest
from zoo.data.corpus import Batch, Corpus
from zoo.errors import ConfigError


class Probe(nn.Module):
    """A frozen model and a linear classifier on its vectors.

    Args:
        model: gives a vector for each example, or for each token; it stays in evaluation mode.
        classifier: a linear layer.
    """

    def __init__(self, model: nn.Module, classifier: nn.Linear) -> None:
        super().__init__()
        self.model = model.eval().requires_grad_(False)
        self.classifier: nn.Linear = classifier

    def train(self, mode: bool = True) -> "Probe":
        """Set the mode of the classifier; dropout and moving averages of the model stay off."""
        super().train(mode)
        self.model.eval()
        return self

    def forward(self, *inputs: Any) -> Tensor:
        """Give the scores."""
        return self.classifier(self.model(*inputs))

    def remembering(self) -> "Probe":
        """Give the same probe, which computes the vectors of a batch that it has seen no second time."""
        return Probe(_Remembered(self.model), self.classifier)

    def with_classifier(self, classifier: nn.Linear) -> "Probe":
        """Give a probe of the same model with another classifier."""
        return Probe(self.model, classifier)

    def moved(self, fabric: Fabric) -> nn.Module:
        """Move the frozen model to the device and precision of a training, as Fabric moves what it trains; give it."""
        self.model = fabric.strategy.precision.convert_module(self.model).to(fabric.device)
        return self.model


class _Remembered(nn.Module):
    """Keep the vectors of each batch by its content: validation reads the same batches again and again."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.known: dict[bytes, Tensor] = {}

    def forward(self, *inputs: Any) -> Tensor:
        key = content_digest(inputs)
        if key not in self.known:
            self.known[key] = self.model(*inputs)
        return self.known[key]


class VectorBatches:
    """Batches of vectors in place of a training's inputs, the vectors of each example computed once.

    Args:
        model: frozen, in evaluation mode.
        corpus: the training examples.
        fabric: device and precision.
        keep: whether an example's vectors are kept; not where it is changed at random each time.
    """

    def __init__(self, model: nn.Module, corpus: Corpus, fabric: Fabric, keep: bool) -> None:
        self.model, self.corpus, self.fabric, self.keep = model, corpus, fabric, keep
        self.known: dict[int, Batch] = {}

    def endless(self, batch_size: int, seed: int) -> Iterator[Batch]:
        """Give batches without end, of the examples in the order that a training of the seed has."""
        generator = torch.Generator().manual_seed(seed)
        while True:
            for index in self.corpus.epoch(generator, batch_size):
                yield self._batch(index.tolist(), generator)

    def _batch(self, places: list[int], generator: torch.Generator) -> Batch:
        known = self.known if self.keep else {}
        if missing := [place for place in places if place not in known]:
            known.update(zip(missing, self._examples(missing, generator), strict=True))
        rows = [known[place] for place in places]
        return Batch((torch.cat([row.inputs[0] for row in rows]),), torch.cat([row.target for row in rows]))

    def _examples(self, places: list[int], generator: torch.Generator) -> list[Batch]:
        """Give vectors and targets of each example, one after another where a batch has no axis for examples."""
        vectors, target = self._vectors(places, generator)
        if len(vectors) == len(target) == len(places):
            return [_known(vectors[i : i + 1], target[i : i + 1]) for i in range(len(places))]
        if len(places) == 1:
            return [_known(vectors, target)]
        return [row for place in places for row in self._examples([place], generator)]

    def _vectors(self, places: list[int], generator: torch.Generator) -> tuple[Tensor, Tensor]:
        inputs, target = self.fabric.to_device(self.corpus.batch(torch.tensor(places), generator))
        with torch.no_grad(), self.fabric.autocast():
            return self.model(*inputs).float(), target


def probe_for(contestant: Contestant, corpus: Corpus, fitting: dict[str, Any]) -> Probe:
    """Make a probe of a model, its classifier 0.

    Args:
        contestant: whose model is probed.
        corpus: the data.
        fitting: configuration that they decide.

    Raises:
        ConfigError: If the data ask for no classifier.
    """
    check_probed(contestant, corpus)
    model = contestant.make(fitting | {"num_classes": 0})
    (inputs, _) = next(iter(corpus.held_out("validation", 1)))
    with evaluation_mode(model):
        width = model(*inputs).shape[-1]
    classifier = nn.Linear(width, fitting["num_classes"])
    for parameter in classifier.parameters():
        nn.init.zeros_(parameter)
    return Probe(model, classifier)


def check_probed(contestant: Contestant, corpus: Corpus) -> None:
    """Refuse a probe where there is nothing to classify.

    Raises:
        ConfigError: If the data ask for no classifier.
    """
    asked = corpus.overrides()
    if corpus.task not in ("classify", "tag") or not asked.get("num_classes") or asked.get("target") == "numbers":
        raise ConfigError(
            f"{contestant.name!r}: a probe is a linear classifier, and the data {corpus.name!r} have no classes "
            f"(task {corpus.task!r}, {corpus.metric}); name {contestant.model!r} without probe: to train all of it"
        )


def _known(vectors: Float[Tensor, "*rows d"], target: Tensor) -> Batch:
    """Leave out the places without a target; what is left has no axis but that of the vectors."""
    if vectors.ndim == 3:
        kept = target != IGNORED
        return Batch((vectors[kept],), target[kept])
    return Batch((vectors,), target)
