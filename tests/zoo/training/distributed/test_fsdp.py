"""Weights in parts, in a group of one process: the parts are then whole, and everything else is as with many."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor

from zoo.core.models.generator import Generator
from zoo.data.corpus import Batch
from zoo.errors import ConfigError
from zoo.training.distributed.fsdp import copy_weights, follow, full, placed, shard, sharding
from zoo.training.resume.train_state import optimizer_tensors, set_optimizer_tensors

pytestmark = pytest.mark.usefixtures("float64")

Make = Callable[..., Generator]


def kinds(values: Any) -> set[bool]:
    return {isinstance(value, DTensor) for value in values}


def test_each_block_is_parted_and_then_the_rest(copier: Make, alone: DeviceMesh) -> None:
    model: Any = shard(copier(), alone)
    parted = [name for name, module in model.named_modules() if isinstance(module, FSDPModule)]
    assert parted == ["", "encoder.blocks.0", "decoder.blocks.0", "decoder.blocks.1"]
    assert kinds(model.parameters()) == {True}


def test_a_parted_model_answers_as_the_whole_one(copier: Make, copies: Batch, alone: DeviceMesh) -> None:
    model = copier()
    wanted = model(*copies.inputs)
    torch.testing.assert_close(shard(copy.deepcopy(model), alone)(*copies.inputs), wanted)


def test_blocks_that_share_a_weight_stay_with_the_rest(alone: DeviceMesh) -> None:
    blocks = [nn.Linear(3, 3) for _ in range(3)]
    blocks[2].weight = blocks[0].weight
    model: Any = shard(nn.Sequential(nn.ModuleList(blocks)), alone)
    assert [isinstance(block, FSDPModule) for block in model[0]] == [False, True, False]
    assert model[0][0].weight is model[0][2].weight


def test_channels_that_come_last_are_parted_too(alone: DeviceMesh) -> None:
    model = nn.Conv2d(4, 4, 3).to(memory_format=torch.channels_last)
    weight = model.weight.detach().clone()
    shard(model, alone)
    assert torch.equal(full(model.weight.detach()), weight)


def test_a_single_number_cannot_be_parted(alone: DeviceMesh) -> None:
    model = nn.Linear(2, 2)
    model.register_parameter("scale", nn.Parameter(torch.tensor(1.0)))
    with pytest.raises(ConfigError, match=r"strategy='fsdp' with 'scale', a single number, .* take ddp"):
        shard(model, alone)


def test_weights_are_copied_into_parts_and_back(copier: Make, alone: DeviceMesh) -> None:
    model, parted = copier(), shard(copier(), alone)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(1)
    copy_weights(model, parted)
    again = copier()
    copy_weights(parted, again)
    assert kinds(again.state_dict().values()) == {False}
    assert all(torch.equal(value, again.state_dict()[key]) for key, value in model.state_dict().items())


def test_optimisers_follow_the_weights(copier: Make, copies: Batch, alone: DeviceMesh) -> None:
    model = copier()
    before = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.SGD([{"params": [weight]} for weight in model.parameters()], 0.1)
    parted = shard(copy.deepcopy(model), alone)
    follow([optimizer], model, parted)
    parted(*copies.inputs).square().sum().backward()
    optimizer.step()
    moved = copier()
    copy_weights(parted, moved)
    assert not torch.equal(moved.state_dict()["target.embed.weight"], before["target.embed.weight"])
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())


def test_optimisers_of_a_whole_model_stay_as_they_are(copier: Make) -> None:
    model = copier()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    weights = list(optimizer.param_groups[0]["params"])
    follow([optimizer], model, model)
    assert all(one is other for one, other in zip(optimizer.param_groups[0]["params"], weights, strict=True))


def test_what_optimisers_keep_is_saved_whole_and_parted_again(copier: Make, copies: Batch, alone: DeviceMesh) -> None:
    def stepped(model: nn.Module) -> torch.optim.Optimizer:
        optimizer = torch.optim.Adam(model.parameters(), 0.1)
        model(*copies.inputs).square().sum().backward()
        optimizer.step()
        return optimizer

    wanted = optimizer_tensors([stepped(copier())])
    optimizer = stepped(shard(copier(), alone))
    kept = optimizer_tensors([optimizer])
    assert kinds(kept.values()) == {False}
    torch.testing.assert_close(kept, wanted)
    doubled = {key: 2 * value for key, value in kept.items()}
    set_optimizer_tensors([optimizer], doubled)
    assert all(isinstance(each["exp_avg"], DTensor) for each in optimizer.state.values())
    torch.testing.assert_close(optimizer_tensors([optimizer]), doubled, rtol=0, atol=0)


def test_a_whole_tensor_is_placed_as_another_is(alone: DeviceMesh) -> None:
    value = torch.randn(3, 2)
    like = shard(nn.Linear(2, 3), alone).weight
    assert isinstance(like, Tensor)
    given = placed(value, like.detach())
    assert isinstance(given, DTensor)
    assert given.placements == like.placements  # type: ignore[attr-defined]
    assert torch.equal(full(given), value)
    assert placed(value, value) is value


def test_a_torch_that_overlooks_our_tokens_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", torch.torch_version.TorchVersion("2.11.0"))
    with pytest.raises(ConfigError, match=r"strategy='fsdp' with torch 2\.11\.0: it needs torch 2\.12; take ddp"):
        sharding("32-true")
