"""Dilated convolutions: their reach doubles with each layer."""

import pytest
import torch

import zoo
from zoo.errors import ConfigError


@pytest.mark.parametrize("depth", [1, 3, 4])
def test_a_token_reads_two_to_the_depth_less_one_on_each_side(depth: int) -> None:
    made = zoo.create("dilated-cnn-micro", depth=depth, dim=6, task="features").double().eval()
    ids = torch.full((1, 60), 5)
    changed = ids.index_fill(1, torch.tensor([30]), 6)
    differs = ((made(ids) - made(changed)).abs().amax(2)[0] > 0).nonzero().flatten()
    assert (int(differs.min()), int(differs.max())) == (30 - (2**depth - 1), 30 + 2**depth - 1)


def test_no_layer_is_refused() -> None:
    with pytest.raises(ConfigError, match="depth=0"):
        zoo.create("dilated-cnn-micro", depth=0)
