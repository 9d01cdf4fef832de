"""What the tests of several plugins share."""

from collections.abc import Callable
from typing import Any

import pytest
import torch


def check_alone(model: Any) -> None:
    """Check that a model of sounds, which gives three labels for each vector, answers each of a batch as alone."""
    lengths = torch.tensor([9_000, 5_000, 700])
    x = 0.1 * torch.randn(3, 9_000, generator=torch.Generator().manual_seed(1))
    for row, t in enumerate(lengths.tolist()):
        x[row, t:] = torch.nan
    y = model(x, lengths)
    assert y.shape == (3, 14, 3)
    for row, (t, n) in enumerate(zip(lengths.tolist(), model.stem.count(lengths).tolist(), strict=True)):
        torch.testing.assert_close(y[row, :n], model(x[row : row + 1, :t])[0])


@pytest.fixture
def answers_alone() -> Callable[[Any], None]:
    """Give the check of batch mates."""
    return check_alone
