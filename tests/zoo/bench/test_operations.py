import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

import zoo
from zoo.bench.operations import multiply_adds


@pytest.mark.parametrize(("name", "billions"), [("vit-tiny", 1.25), ("vit-small", 4.60), ("resnet-18", 1.81)])
def test_published_operations_of_one_picture(name: str, billions: float) -> None:
    model = zoo.create(name).eval()
    assert multiply_adds(model, *zoo.example(name, 1)) == pytest.approx(billions * 1e9, rel=0.01)


class Attend(torch.nn.Module):
    """Call the fused kernel alone."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return scaled_dot_product_attention(x, x, x)


def test_attention_on_a_cpu_is_two_products() -> None:
    assert multiply_adds(Attend(), torch.zeros(2, 3, 5, 8)) == 2 * (2 * 3 * 5 * 5 * 8)
