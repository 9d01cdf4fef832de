"""The model that a training starts from."""

from pathlib import Path

import pytest
import torch
from torch import nn

import zoo
from zoo.plugins.shared.text.tokenizer import Tokenizer
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


def test_fewer_classes_than_the_data_have_are_refused() -> None:
    assert InitialModel("vit-micro", None, False, {"num_classes": 5}).make({"num_classes": 3}).num_classes == 5
    with pytest.raises(zoo.ConfigError, match="num_classes=1: the data need 3; leave it out, or give at least as many"):
        InitialModel("vit-micro", None, False, {"num_classes": 1}).make({"num_classes": 3})


def test_a_folder_of_weights_starts_a_training_with_them_and_their_tokenizer(tmp_path: Path) -> None:
    saved = zoo.create("decoder-tiny", dim=16, depth=1, num_heads=2, mlp_dim=16)
    zoo.weights.save(saved, tmp_path)
    Tokenizer.byte_level().save(tmp_path / "tokenizer.json")
    name, weight = f"local-dir:{tmp_path}", saved.state_dict()["target.embed.weight"]
    for pretrained, loads in ((None, True), (True, True), (False, False)):
        initial = InitialModel(name, None, pretrained, {})
        assert initial.tuned == loads
        assert initial.tokenizer == (str(tmp_path / "tokenizer.json") if loads else "")
        assert torch.equal(initial.make({}).state_dict()["target.embed.weight"], weight) == loads
    assert not InitialModel("decoder-tiny", None, None, {}).tuned
