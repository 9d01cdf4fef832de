"""Balanced class weights: in the loss, the classes count alike, however many examples each has."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import one_hot

from zoo.core import IGNORED
from zoo.core.losses.loss import cross_entropy
from zoo.core.models.model import has_own_loss
from zoo.data.corpus import Batch
from zoo.data.labelling.known_classes import KnowsClasses
from zoo.errors import ConfigError


class Balanced:
    """Cross-entropy in which an example of class c counts N / (K n_c), of N examples, K classes, n_c of that class.

    These are the weights that scikit-learn calls `balanced`. The loss is the weighted mean.

    Args:
        corpus: tells the class of each training example.
        model: classifies.
        smoothing: of the labels.

    Raises:
        ConfigError: If the examples have no class each, or no example is of some class.
    """

    def __init__(self, corpus: Any, model: nn.Module, smoothing: float = 0.0) -> None:
        if not isinstance(corpus, KnowsClasses) or has_own_loss(model) or not _asks_for_classes(corpus):
            raise ConfigError(f"class_weights='balanced' with {corpus.name!r}: its examples have no class each")
        self.smoothing = smoothing
        labels: Any = model.num_classes
        self.weights = balanced(corpus.classes_of("train"), labels)

    def __call__(self, forward: Any, batch: Batch, step: int) -> Tensor:
        """Give the loss."""
        answer, target = forward(*batch.inputs), batch.target
        if not target.is_floating_point():  # shares of classes, as mixup makes them
            known = target != IGNORED
            target = one_hot(target.masked_fill(~known, 0), answer.shape[-1]) * known[..., None]
        return cross_entropy(answer, target * self.weights.to(answer), self.smoothing)


def _asks_for_classes(corpus: Any) -> bool:
    """Tell whether a target is one class, neither several labels nor numbers."""
    return corpus.task in ("classify", "tag") and corpus.overrides().get("target", "class") == "class"


def balanced(classes: Tensor, count: int) -> Float[Tensor, " k"]:
    """Give the weight of each class.

    Raises:
        ConfigError: If no example is of some class.
    """
    known = classes[classes >= 0].long()
    found = torch.bincount(known, minlength=count)
    if absent := (found == 0).nonzero().flatten().tolist():
        raise ConfigError(
            f"class_weights='balanced', and no training example is of class {', '.join(map(str, absent[:5]))} (counted "
            "from 0): its weight would be infinite; add examples of it, or leave class_weights out"
        )
    return len(known) / (count * found.float())
