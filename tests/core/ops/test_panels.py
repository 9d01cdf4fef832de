"""Products of few rows, panel by panel."""

import pytest
import torch

from zoo.core.ops import panels
from zoo.core.ops.linear import Linear
from zoo.core.ops.panels import by_panels, in_panels


@pytest.mark.parametrize("shape", [(4,), (3, 4), (1, 12)])
@pytest.mark.parametrize("out", [96, 100])
@pytest.mark.parametrize("bias", [True, False])
def test_few_rows_are_multiplied_by_panels_that_are_views(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], out: int, bias: bool
) -> None:
    monkeypatch.setattr(panels, "LARGE", 1)
    layer, x = Linear(16, out, bias=bias), torch.randn(*shape, 16)
    assert not in_panels(x, layer.weight)  # its gradient is wanted
    wanted = layer(x)
    with torch.no_grad():
        assert in_panels(x, layer.weight)
        torch.testing.assert_close(by_panels(x, layer.weight, layer.bias), wanted)
        torch.testing.assert_close(layer(x), wanted)
