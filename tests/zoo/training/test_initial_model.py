"""The model that a training starts from."""

import pytest
import torch
from torch import nn

from zoo.training.initial_model import InitialModel, channels_last


@pytest.mark.parametrize(("model", "changed"), [(nn.Conv2d(4, 4, 3), True), (nn.Linear(4, 4), False)])
def test_only_a_cnn_holds_its_images_channels_last(model: nn.Module, changed: bool) -> None:
    strides = {name: value.stride() for name, value in model.named_parameters()}
    placed = channels_last(model)
    assert ({name: value.stride() for name, value in placed.named_parameters()} != strides) == changed


def test_a_cnn_is_made_channels_last() -> None:
    made = InitialModel("resnet-micro", None, False, {}).make({"num_classes": 3})
    kernels = [module.weight for module in made.modules() if isinstance(module, nn.Conv2d)]
    assert all(kernel.is_contiguous(memory_format=torch.channels_last) for kernel in kernels)
