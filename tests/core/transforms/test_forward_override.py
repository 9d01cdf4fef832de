"""Modules that go forward otherwise for a while."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from zoo.core.transforms.forward_override import overridden


def doubled(module: nn.Module) -> Callable[..., Any]:
    forward = module.forward
    return lambda x: 2 * forward(x)


def test_overrides_add_up_and_end_one_by_one() -> None:
    module, x = nn.Identity(), torch.ones(())
    with overridden([module, module], doubled):
        with overridden([module], doubled):
            assert module(x) == 4
        assert module(x) == 2
    assert module(x) == 1
    assert "forward" not in vars(module)


def test_they_end_when_something_fails() -> None:
    module = nn.Linear(2, 2)
    with pytest.raises(RuntimeError), overridden([module], doubled):
        module(torch.ones(3))
    assert "forward" not in vars(module)
