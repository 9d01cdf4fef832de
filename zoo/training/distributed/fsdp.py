"""Fully sharded data parallel (FSDP: arXiv:2304.11277): from full weights to sharded ones and back.

A model in training may be sharded; the model that is evaluated, saved and returned is always full. Everything here that
gathers or scatters has to be called by all processes, in the same order.
"""

import copy
from collections import Counter
from collections.abc import Iterator, Sequence

import torch
from lightning_fabric import Fabric
from lightning_fabric.strategies.model_parallel import ModelParallelStrategy
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.optim import Optimizer

from zoo.errors import ConfigError

_TORCH = "2.12"
"""Before it, torch's FSDP overlooks tensors in dataclasses, such as our `Tokens`, and trains nothing."""
_PRECISIONS = ("32-true", "bf16-mixed", "bf16-true")


def sharding(precision: str) -> ModelParallelStrategy:
    """Make the strategy that shards weights, gradients and optimizer states over all processes.

    Args:
        precision: a name of Fabric's.

    Raises:
        ConfigError: If this torch cannot do it, or not in this precision.
    """
    if precision not in _PRECISIONS:
        raise ConfigError(f"precision={precision!r} with strategy='fsdp': take {', '.join(_PRECISIONS)}; or take ddp")
    if torch.__version__ < _TORCH:
        raise ConfigError(f"strategy='fsdp' with torch {torch.__version__}: it needs torch {_TORCH}; take ddp")
    return ModelParallelStrategy(shard)


def in_training(model: nn.Module, fabric: Fabric) -> nn.Module:
    """Return the module to train: the model itself, or a copy where its weights will be sharded."""
    if not isinstance(fabric.strategy, ModelParallelStrategy):
        return model
    return copy.deepcopy(fabric.strategy.precision.convert_module(model))


def shard(model: nn.Module, mesh: DeviceMesh) -> nn.Module:
    """Shard the weights of each block, and the rest, over all processes.

    Raises:
        ConfigError: If a weight cannot be sharded.
    """
    for name, weight in model.named_parameters():
        if not weight.ndim:
            raise ConfigError(f"strategy='fsdp' with {name!r}, a single number, which cannot be sharded: take ddp")
        weight.data = weight.data.contiguous()  # convolutions may hold their channels last
    everyone = init_device_mesh(mesh.device_type, (mesh.size(),))
    for module in [*_units(model), model]:
        fully_shard(module, mesh=everyone)
    return model


def follow(optimizers: Sequence[Optimizer], model: nn.Module, trained: nn.Module) -> None:
    """Let optimizers that were made over a model's weights update those of the module in training."""
    in_use = dict(trained.named_parameters())
    now = {id(weight): in_use[name] for name, weight in model.named_parameters()}
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["params"] = [now.get(id(weight), weight) for weight in group["params"]]


def copy_weights(source: nn.Module, target: nn.Module) -> None:
    """Copy all weights, each to the target's device; sharded ones are made of those of the first process."""
    if source is target:
        return
    own = target.state_dict()
    target.load_state_dict({name: placed(full(value), own[name]) for name, value in source.state_dict().items()})


def full(value: Tensor) -> Tensor:
    """Return a tensor as it is, and a sharded one gathered in the host's memory, which has room for all of them."""
    return value.full_tensor().cpu() if isinstance(value, DTensor) else value


def placed(value: Tensor, like: Tensor) -> Tensor:
    """Shard a full tensor like another tensor; like a full one it stays as it is."""
    if not isinstance(like, DTensor):
        return value
    return distribute_tensor(value, like.device_mesh, like.placements)


def _units(model: nn.Module) -> Iterator[nn.Module]:
    """Yield the blocks, each gathered when it is used; those that share a weight stay with the rest."""
    uses = Counter(id(weight) for _, weight in model.named_parameters(remove_duplicate=False))
    inside: set[nn.Module] = set()
    for stack in model.modules():
        if isinstance(stack, nn.ModuleList) and stack not in inside:
            inside.update(module for block in stack for module in block.modules())
            yield from (block for block in stack if all(uses[id(weight)] == 1 for weight in block.parameters()))
