from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import zoo
from zoo.errors import ConfigError
from zoo.training.fine_tuning.low_rank import LowRank, add_low_rank, merge, merged

DIM = 16
pytestmark = pytest.mark.usefixtures("float64")


def made() -> Any:
    return zoo.create("vit-micro", depth=2, dim=DIM, num_heads=2, mlp_dim=24, patch_size=4, image_size=8).eval()


def pictures() -> Tensor:
    return torch.randn(3, 3, 8, 8)


def added(model: nn.Module) -> list[LowRank]:
    return [part for part in model.modules() if isinstance(part, LowRank)]


def drawn(model: Any) -> Any:
    for part in added(model):
        nn.init.normal_(part.b)
    return model


@pytest.mark.parametrize("layers", ["", ":q,v", ":q,k,v,o", ":all", ":encoder.blocks.*.mlp.*"])
def test_nothing_changes_at_first_and_afterwards_both_are_one(layers: str) -> None:
    model, x = made(), pictures()
    keys, before = model.state_dict().keys(), model(x)
    add_low_rank(model, f"2{layers}")
    torch.testing.assert_close(model(x), before)
    drawn(model)
    changed = model(x)
    assert not torch.allclose(changed, before)
    torch.testing.assert_close(merged(model)(x), changed)
    assert added(model), "a copy is merged, not the model"
    merge(model)
    assert model.state_dict().keys() == keys
    torch.testing.assert_close(model(x), changed)
    assert merged(model) is model


def test_only_the_head_and_what_was_added_is_trained() -> None:
    model = made()
    add_low_rank(model, "2")
    trained = {name.split(".")[-1] if "parametrizations" in name else name.split(".")[0]
               for name, each in model.named_parameters() if each.requires_grad}  # fmt: skip
    assert trained == {"head", "a", "b"}
    assert len(added(model)) == 4
    drawn(model)(pictures()).sum().backward()
    assert all(each.grad is not None for part in added(model) for each in part.parameters())


def test_at_full_rank_any_weights_are_reached() -> None:
    model, goal, x = made(), made(), pictures()
    goal.load_state_dict(model.state_dict())
    for block in goal.encoder.blocks:
        nn.init.normal_(block.attention.qkv.weight)
    add_low_rank(model, f"{DIM}:q,k,v")
    for ours, theirs in zip(model.encoder.blocks, goal.encoder.blocks, strict=True):
        layer, weight = ours.attention.qkv, theirs.attention.qkv.weight
        missing = (weight - layer.parametrizations.weight.original).chunk(3)
        for part, rows in zip(layer.parametrizations.weight, missing, strict=True):
            nn.init.eye_(part.a)
            part.b.data = rows / part.scale
    torch.testing.assert_close(model(x), goal(x))


def test_values_alone_leave_queries_and_keys_as_they_are() -> None:
    model = made()
    attention = model.encoder.blocks[0].attention
    before = attention.qkv.weight.detach().clone()
    add_low_rank(model, "1:v")
    drawn(model)
    same = (attention.qkv.weight == before).all(1)
    assert same[: 2 * DIM].all()
    assert not same[2 * DIM :].any()


def test_a_copy_is_a_model_of_its_own() -> None:
    model = made()
    add_low_rank(model, "2")
    other = drawn(deepcopy(model))
    x = pictures()
    assert not torch.allclose(other(x), model(x))


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ("0", "RANK or RANK:LAYERS"),
        ("q", "RANK or"),
        ("17", "at most rank 16"),
        ("2:x*", "the linear layers are"),
    ],
)
def test_what_cannot_be_is_told(asked: str, error: str) -> None:
    with pytest.raises(ConfigError, match=error):
        add_low_rank(made(), asked)


def test_of_all_layers_those_that_are_smaller_have_their_full_rank() -> None:
    model: Any = zoo.create("caption-rnn-tiny", image_size=16)
    add_low_rank(model, "2:all")
    assert model.decoder.gate.linear.parametrizations.weight[0].a.shape[0] == 1
    assert model.decoder.first.parametrizations.weight[0].a.shape[0] == 2


def test_a_model_without_linear_layers_is_refused() -> None:
    with pytest.raises(ConfigError, match="no linear layers at all"):
        add_low_rank(zoo.create("resnet-micro"), "2:all")
    with pytest.raises(ConfigError, match=r"lora='8': without layers it is '8:q,v': .* as a whole, with layer_decay"):
        add_low_rank(zoo.create("resnet-micro"), "8")


def test_gates_and_the_bridge_of_a_joined_model_are_trained() -> None:
    model = zoo.join("bert-micro", "decoder-tiny", encoder_config={"depth": 1}, decoder_config={"depth": 1})
    add_low_rank(model, "2")
    trained = {name for name, each in model.named_parameters() if each.requires_grad}
    assert any(name.endswith("cross.gate") for name in trained)
    assert any(name.startswith("stem.bridge.") for name in trained)
