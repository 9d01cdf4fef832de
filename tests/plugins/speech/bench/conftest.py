"""Small models for the benchmark cases of speech."""

from collections.abc import Callable
from typing import Any

import pytest
from torch import nn

import zoo


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the works make models of two narrow blocks."""
    create: Callable[..., Any] = zoo.create

    def smaller(name: str, **options: Any) -> nn.Module:
        made: nn.Module = create(name, dim=8, depth=2, num_heads=2, mlp_dim=16, bands=20, **options)
        return made

    monkeypatch.setattr("zoo.create", smaller)
