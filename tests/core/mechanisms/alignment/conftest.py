"""Recurrent decoders of every kind, tiny and in float64, with random weights."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from zoo.core import (
    Alignment,
    AlignmentScore,
    AlignmentWindow,
    BilinearScore,
    ConcatScore,
    ContextGate,
    DotScore,
    InputFeedingDecoder,
    LocationScore,
    Monotonic,
    Predictive,
    PresentStateDecoder,
    PreviousStateDecoder,
    RecurrentDecoder,
    Tokens,
    Valid,
)

DIM = 6
SCORES: dict[str, Callable[[], AlignmentScore]] = {
    "dot": DotScore,
    "general": lambda: BilinearScore(DIM),
    "concat": lambda: ConcatScore(DIM),
    "location": lambda: LocationScore(DIM, 9),
}
WINDOWS: dict[str, Callable[[], AlignmentWindow | None]] = {
    "global": lambda: None,
    "local-m": lambda: Monotonic(1),
    "local-p": lambda: Predictive(DIM, 2),
}
DECODERS = {"present": PresentStateDecoder, "feeding": InputFeedingDecoder, "previous": PreviousStateDecoder}


def randomised(module: Any) -> Any:
    torch.manual_seed(0)
    for parameter in module.double().parameters():
        torch.nn.init.normal_(parameter, std=0.6)
    return module.eval()


@pytest.fixture
def make_decoder() -> Callable[..., Any]:
    def make(kind: str, score: str = "general", window: str = "global", cell: str = "lstm", depth: int = 1) -> Any:
        if kind == "plain":
            return randomised(RecurrentDecoder(cell, DIM, depth))
        alignment = Alignment(SCORES[score](), WINDOWS[window]())
        return randomised(DECODERS[kind](cell, DIM, alignment, depth, gate=ContextGate(DIM)))

    return make


@pytest.fixture
def source() -> Tokens:
    """Three rows: whole, with padding behind, and with padding in front and between."""
    valid = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 1, 0, 1, 1]], dtype=torch.bool)
    return Tokens(drawn(3, 5, DIM, seed=1), keys=Valid(valid))


@pytest.fixture
def target() -> Tokens:
    return Tokens(drawn(3, 4, DIM, seed=2))


def drawn(*shape: int, seed: int) -> Tensor:
    made = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64, device="cpu")
    return made.to(torch.get_default_device())
