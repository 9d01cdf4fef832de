"""Training loops of published studies: early stopping, or a learning rate that falls on plateaus."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import l1_loss

MIN_LEARNING_RATE = 1e-6
"""Learning rate below which `by_plateau` ends."""


def by_patience(model: Any, corpus: Any, run: Any) -> int:
    """Train with early stopping on validation loss and score; return the number of epochs.

    Source: arXiv:1710.10903 sec. 3.3. The model keeps the weights of the last epoch at which both were at least as good
    as in all before.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=run.learning_rate, weight_decay=run.weight_decay)
    generator = torch.Generator().manual_seed(run.seed)
    best: dict[str, Any] = {}
    highest, lowest, waited, epoch = 0.0, math.inf, 0, 0
    while epoch < run.epochs and waited < run.patience:
        _train(model, corpus, optimizer, partial(corpus.loss, smoothing=0.0), run.batch_size, generator)
        epoch += 1
        scores = corpus.score(model, "validation", run.batch_size)
        score, loss = scores[run.score], -scores["-loss"]
        if score >= highest and loss <= lowest:
            best = {key: value.clone() for key, value in model.state_dict().items()}
        waited = 0 if score >= highest or loss <= lowest else waited + 1
        highest, lowest = max(highest, score), min(lowest, loss)
    if best:
        model.load_state_dict(best)
    return epoch


def by_plateau(model: Any, corpus: Any, run: Any) -> int:
    """Train on the L1 loss, halving the learning rate on plateaus of validation; return the number of epochs.

    Source: arXiv:2012.09699 sec. 4. The model keeps the last weights.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=run.learning_rate, weight_decay=run.weight_decay)
    slower = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=run.patience)
    generator, epoch = torch.Generator().manual_seed(run.seed), 0
    while epoch < run.epochs and optimizer.param_groups[0]["lr"] >= MIN_LEARNING_RATE:
        _train(model, corpus, optimizer, l1_loss, run.batch_size, generator)
        epoch += 1
        slower.step(-corpus.score(model, "validation", run.batch_size)[run.score])
    return epoch


def _train(
    model: Any,
    corpus: Any,
    optimizer: torch.optim.Optimizer,
    loss: Callable[[Tensor, Tensor], Tensor],
    batch_size: int,
    generator: torch.Generator,
) -> None:
    """Train for an epoch."""
    model.train()
    for places in corpus.epoch(generator, batch_size):
        batch = corpus.batch(places, generator)
        optimizer.zero_grad()
        loss(model(*batch.inputs), batch.target).backward()
        optimizer.step()


FITS = {"patience": by_patience, "plateau": by_plateau}
"""Training loops by name, as `Protocol.fit` gives them."""
