"""A digest of inputs changes with every part of them and with nothing else."""

from typing import Any

import numpy as np
import pytest
import torch

from zoo.data.content_digest import content_digest


def test_equal_inputs_have_equal_digests_wherever_they_lie() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    assert content_digest((x, None)) == content_digest((x.t().contiguous().t(), None))
    assert content_digest(x.bfloat16().requires_grad_()) == content_digest(x.bfloat16())
    assert len(content_digest(())) == 16


@pytest.mark.parametrize(
    "other",
    [torch.arange(12.0).reshape(4, 3), torch.arange(12).reshape(3, 4), torch.arange(12.0).reshape(3, 4) + 1e-5, None,
     np.arange(12.0).reshape(3, 4), "text"],
)  # fmt: skip
def test_another_value_shape_or_type_has_another(other: Any) -> None:
    assert content_digest({"x": other}) != content_digest({"x": torch.arange(12.0).reshape(3, 4)})
