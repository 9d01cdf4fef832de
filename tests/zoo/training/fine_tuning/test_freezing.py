from typing import Any

import pytest
import torch
from torch import Tensor, nn

import zoo
from zoo.core import freeze
from zoo.data.corpus import Batch
from zoo.errors import ConfigError
from zoo.training.fine_tuning.freezing import KeepFrozen


def made(name: str = "vit-micro") -> nn.Module:
    return zoo.create(name, depth=2, dim=16, num_heads=2, mlp_dim=16, dropout=0.5, patch_size=4, image_size=8)


def moved(model: nn.Module) -> set[str]:
    return {name for name, each in model.named_parameters() if each.requires_grad}


@pytest.mark.parametrize(
    ("parts", "left"),
    [
        ("encoder", {"head"}),
        ("stem", {"encoder", "head"}),
        ("stem, encoder.blocks.0", {"encoder", "head"}),
        ("*.bias,*.norm*", {"stem", "encoder", "head"}),
    ],
)
def test_parts_are_frozen_and_the_others_are_not(parts: str, left: set[str]) -> None:
    model = made()
    freeze(model, parts)
    assert {name.split(".")[0] for name in moved(model)} == left
    if "blocks.0" in parts:
        assert not [name for name in moved(model) if name.startswith("encoder.blocks.0.")]


def test_a_cnn_keeps_its_own_head() -> None:
    model = zoo.create("resnet-micro")
    freeze(model, "encoder")
    assert moved(model) == {"net.fc.weight", "net.fc.bias"}


def test_the_stem_of_a_cnn_is_its_first_convolution() -> None:
    model = zoo.create("resnet-micro")
    freeze(model, "stem")
    still = {name.split(".")[1] for name, each in model.named_parameters() if not each.requires_grad}
    assert still == {"conv1", "bn1"}


@pytest.mark.parametrize("name", ["decoder-tiny", "transformer-tiny", "rnn-attention-tiny"])
def test_the_stem_of_a_model_that_writes_is_the_embedding_by_which_it_reads(name: str) -> None:
    model = zoo.create(name)
    freeze(model, "stem")
    still = {name.split(".")[0] for name, each in model.named_parameters() if not each.requires_grad}
    assert still == {"target"}
    assert moved(model)


@pytest.mark.parametrize(("parts", "error"), [("trunk", "'trunk' matches no weights"), ("*", "nothing to train")])
def test_what_matches_nothing_or_everything_is_an_error_that_names_the_parts(parts: str, error: str) -> None:
    with pytest.raises(ConfigError, match=error) as raised:
        freeze(made(), parts)
    assert "encoder.blocks.0" in str(raised.value)


def test_frozen_parts_are_in_evaluation_mode_and_their_statistics_stay() -> None:
    model = zoo.create("resnet-micro").train()
    freeze(model, "encoder")
    before = {key: value.clone() for key, value in model.state_dict().items()}

    def loss(forward: Any, batch: Batch, step: int) -> Tensor:
        assert forward.training
        return forward(*batch.inputs).sum()

    KeepFrozen(loss)(model, Batch((torch.randn(2, 3, 24, 24),), torch.zeros(2)), 0).backward()
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert model.net.fc.weight.grad is not None


def test_frozen_parts_drop_nothing() -> None:
    model = zoo.create("bert-micro", depth=1, dropout=0.5, num_classes=3).train()
    freeze(model, "encoder")

    def loss(forward: Any, batch: Batch, step: int) -> Tensor:
        return forward(*batch.inputs).square().sum()

    objective, batch = KeepFrozen(loss), Batch((torch.tensor([[5, 6, 7]]),), torch.zeros(1))
    assert torch.equal(objective(model, batch, 0), objective(model, batch, 1))


@pytest.mark.parametrize(
    ("part", "still", "moves"),
    [
        ("encoder", ["stem.model."], ["stem.bridge.", "decoder.blocks.0.cross.", "target."]),
        ("decoder", ["decoder.blocks.0.attention.", "target."], ["stem.bridge.", "decoder.blocks.0.cross."]),
        ("stem", ["stem.model."], ["stem.bridge."]),
    ],
)
def test_what_is_new_in_a_joined_model_is_trained(part: str, still: list[str], moves: list[str]) -> None:
    model = zoo.join("bert-micro", "decoder-tiny", encoder_config={"depth": 1}, decoder_config={"depth": 1})
    freeze(model, part)
    for name, parameter in model.named_parameters():
        assert not (parameter.requires_grad and name.startswith(tuple(still)))
        assert parameter.requires_grad or not name.startswith(tuple(moves))


def test_what_predicts_the_length_belongs_to_no_encoder() -> None:
    model = zoo.create("nat-base", depth=1, dim=16, num_heads=2, mlp_dim=16, vocab_size=20)
    freeze(model, "encoder")
    assert any(name.startswith("length.") for name in moved(model))
    assert not any(name.startswith("encoder.") for name in moved(model))
