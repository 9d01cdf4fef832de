"""Linear probe, arXiv:2103.00020 sec. 3.2: a linear head fitted by scikit-learn on the vectors of a frozen model.

The vectors of each example are computed once. The head is logistic regression, one for each of several labels, or ridge
regression of numbers; its regularisation is chosen on the validation examples.

Axes: r vectors, d channels, k labels or numbers.
"""

import warnings
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from zoo.core import IGNORED
from zoo.core.transforms.freezing import head_keys
from zoo.data.batches.batched_corpus import evaluation_mode, to_device
from zoo.data.corpus import Batch
from zoo.data.corpus_options import AugmentsByName
from zoo.data.items import GivesItems
from zoo.data.labelling.known_classes import KnowsClasses
from zoo.data.progress import shown
from zoo.errors import ConfigError
from zoo.registry.entry_loading import require
from zoo.spec import Requirement
from zoo.training.config import Settings
from zoo.training.fine_tuning.class_weights import balanced

STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
"""Inverse strengths of the regularisation, of which the best on validation is taken."""
STEPS = 500
"""Steps of the solver at most."""
LEFT_OUT = (
    *("freeze", "layer_decay", "lora", "ema", "checkpointing", "mixup", "augment"),
    *("steps", "epochs", "learning_rate", "optimizer", "schedule", "warmup", "weight_decay", "label_smoothing"),
    *("validations", "patience"),
)
"""Settings that a probe has no use for."""
NEEDS = (Requirement(module="sklearn", distribution="scikit-learn", install="attention-zoo[bench]"),)

Matrix = NDArray[np.float64]


class Linear(NamedTuple):
    """A linear layer: weights (k, d) and biases (k)."""

    weight: Matrix
    bias: Matrix

    def __call__(self, vectors: Matrix) -> Matrix:
        """Give the scores (r, k)."""
        scores: Matrix = vectors @ self.weight.T + self.bias
        return scores


def check_probe(given: Settings, task: str, name: str, processes: int = 1) -> None:
    """Check that a probe can be fitted, before vectors are computed.

    Raises:
        ConfigError: If the task has no linear head, or settings are given that a probe has no use for.
        MissingLibraryError: If scikit-learn is not installed.
    """
    require("zoo train --probe", NEEDS)
    if task not in ("classify", "tag", "multi-label"):
        raise ConfigError(
            f"probe=True with {name!r}, task {task!r}: a probe is one linear layer on vectors that stay as they are, "
            "for classes, labels and numbers, and not for what a model writes or fills in; use lora='8' or freeze"
        )
    for setting in LEFT_OUT:
        if getattr(given, setting):
            raise ConfigError(
                f"probe=True with {setting}={getattr(given, setting)!r}: a probe computes vectors once and fits "
                "the head alone; leave one of the two out"
            )
    if processes > 1:
        raise ConfigError(f"probe=True on {processes} devices: a probe takes one, set devices=1")


def fit_probe(model: nn.Module, corpus: Any, settings: Settings) -> None:
    """Fit the head of a model on its vectors; all other weights stay.

    Args:
        model: on its device.
        corpus: the data.
        settings: batch size and class weights.

    Raises:
        ConfigError: If the head is not one linear layer, or classes are to be balanced that are none, or are absent.
    """
    backbone: Any = deepcopy(model)
    backbone.reset_classifier(0)
    target = "labels" if corpus.task == "multi-label" else corpus.overrides().get("target", "class")
    units = getattr(corpus, "units", None) if target == "numbers" else None
    classes = int(model.num_classes)  # type: ignore[arg-type]
    balance = settings.class_weights == "balanced"
    if balance and target == "numbers":
        raise ConfigError(
            f"class_weights='balanced' with {corpus.name!r}: its targets are numbers, which have no class"
        )
    if balance and target == "class" and isinstance(corpus, KnowsClasses):
        balanced(corpus.classes_of("train"), classes)  # before vectors are computed
    train, held = (_vectors(backbone, corpus, split, settings.batch_size) for split in ("train", "validation"))
    if balance:
        _check_balanced(train[1], target, classes)
    mean, deviation = train[0].mean(0), train[0].std(0) + 1e-6
    scaled = [((vectors - mean) / deviation, targets) for vectors, targets in (train, held)]
    best = min(
        (_fitted(scaled[0], target, classes, strength, settings.class_weights, units) for strength in
         shown(STRENGTHS, len(STRENGTHS), "fitting the head")),
        key=lambda found: _loss(found(scaled[1][0]), scaled[1][1], target, units),
    )  # fmt: skip
    weight = best.weight / deviation
    layer = _classifier(model, classes)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(weight))
        layer.bias.copy_(torch.from_numpy(best.bias - weight @ mean))


def _check_balanced(targets: NDArray[Any], target: str, classes: int) -> None:
    """Check that no class is absent, nor a label, or its absence.

    Raises:
        ConfigError: If one is.
    """
    if target == "class":
        balanced(torch.from_numpy(targets), classes)
        return
    for place, column in enumerate(targets.T):
        if len(kinds := np.unique(column[~np.isnan(column)])) < 2:
            has = "has" if 1 in kinds else "lacks"
            raise ConfigError(
                f"class_weights='balanced', and every training example {has} label {place} (counted from 0): the "
                "weight of the others would be infinite; add such examples, or leave class_weights out"
            )


def _classifier(model: nn.Module, classes: int) -> nn.Linear:
    """Find the linear layer that gives the scores.

    Raises:
        ConfigError: If there is none.
    """
    heads = head_keys(model)
    found = [
        layer
        for name, layer in model.named_modules()
        if isinstance(layer, nn.Linear) and layer.out_features == classes and f"{name}.".startswith(heads or ("\0",))
    ]
    if not found or found[-1].bias is None:
        raise ConfigError(f"probe=True: the head of {type(model).__name__} is not one linear layer with a bias")
    return found[-1]


def _vectors(backbone: nn.Module, corpus: Any, split: str, batch_size: int) -> tuple[Matrix, NDArray[Any]]:
    """Compute the vectors that have a target, with the targets."""
    vectors, targets = [], []
    total = -(-corpus.sizes[split] // batch_size)
    with evaluation_mode(backbone) as device:
        for batch in shown(_batches(corpus, split, batch_size), total, f"vectors of {split}"):
            inputs, target = to_device(batch, device)
            found: Tensor = backbone(*inputs).float()
            if target.is_floating_point():
                vectors.append(found.cpu())
                targets.append(target.cpu().clone())
                continue
            known = target != IGNORED
            vectors.append(found[known].cpu())
            targets.append(target[known].cpu())
    return torch.cat(vectors).double().numpy(), torch.cat(targets).numpy()


def _batches(corpus: Any, split: str, batch_size: int) -> Iterator[Batch]:
    """Give the examples of a split as they are, once each."""
    if split != "train":
        yield from corpus.held_out(split, batch_size)
        return
    if hasattr(corpus, "places"):
        places: Iterator[Sequence[int]] = corpus.places(split, batch_size)
    else:
        places = (each.tolist() for each in torch.arange(corpus.sizes[split]).split(batch_size))
    if isinstance(corpus, GivesItems):
        for some in places:
            yield corpus.items(split, some)
        return
    plain = corpus.with_augmentation("none") if isinstance(corpus, AugmentsByName) else corpus
    generator = torch.Generator().manual_seed(0)
    for some in places:
        yield plain.batch(torch.tensor(some), generator)


def _fitted(
    examples: tuple[Matrix, NDArray[Any]], target: str, count: int, strength: float, weights: str | None, units: Any
) -> Linear:
    """Fit a head for targets of a kind."""
    from sklearn.linear_model import LogisticRegression, Ridge

    vectors, targets = examples
    if target == "numbers":
        scaled = _standardised(targets, units)
        fits = []
        for column in scaled.T:
            known = ~np.isnan(column)
            fits.append(Ridge(1 / strength).fit(vectors[known], column[known]))
        return Linear(np.stack([fit.coef_ for fit in fits]), np.array([fit.intercept_ for fit in fits]))

    def logistic(x: Matrix, y: NDArray[Any]) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is not converged is judged on validation all the same
            return LogisticRegression(C=strength, max_iter=STEPS, class_weight=weights).fit(x, y)

    weight, bias = np.zeros((count, vectors.shape[1])), np.full(count, -30.0 if target == "class" else 0.0)
    if target == "labels":
        for place, column in enumerate(targets.T):
            known = ~np.isnan(column)
            kinds = np.unique(column[known])
            if len(kinds) < 2:
                bias[place] = 30.0 if 1 in kinds else -30.0
                continue
            fit = logistic(vectors[known], column[known].astype(int))
            weight[place], bias[place] = fit.coef_[0], fit.intercept_[0]
        return Linear(weight, bias)
    fit = logistic(vectors, targets)
    if len(fit.classes_) == 2:  # one row, for the second: half of it for each
        weight[fit.classes_], bias[fit.classes_] = [-fit.coef_[0] / 2, fit.coef_[0] / 2], 0.0
        bias[fit.classes_[1]] = fit.intercept_[0]
    else:
        weight[fit.classes_], bias[fit.classes_] = fit.coef_, fit.intercept_
    return Linear(weight, bias)


def _standardised(targets: NDArray[Any], units: Any) -> Matrix:
    """Bring numbers to those of the head, which multiplies them by their deviation and adds their mean."""
    rows = targets.reshape(len(targets), -1).astype(float)
    if not units:
        return rows
    mean, deviation = np.array(units, float).T
    return (rows - mean) / deviation


def _loss(scores: Matrix, targets: NDArray[Any], target: str, units: Any) -> float:
    """Give the loss on held-out examples: cross-entropy, or the squared error of numbers."""
    from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

    if target == "numbers":
        return float(np.nanmean((scores - _standardised(targets, units)) ** 2))
    answer = torch.from_numpy(scores)
    if target == "labels":
        wanted = torch.from_numpy(targets).double()
        known = ~wanted.isnan()
        return float(binary_cross_entropy_with_logits(answer[known], wanted[known]))
    return float(cross_entropy(answer, torch.from_numpy(targets).long()))
