"""Starting Lightning Fabric on the devices of a training."""

import os
from typing import Any

import torch
from lightning_fabric import Fabric

from zoo.errors import ConfigError
from zoo.training.config import Devices
from zoo.training.distributed.fsdp import sharding

_SHARDED = ("fsdp", "deepspeed")
"""In the names of strategies that shard the weights; only `fsdp` itself is gathered here."""


def accelerator_of(devices: Devices) -> str:
    """Return the accelerator: the one given, or what this machine has."""
    if devices.accelerator != "auto":
        return devices.accelerator
    return "cpu" if not torch.accelerator.is_available() else "cuda"


def is_first_process() -> bool:
    """Tell whether this process is the first of all, or the one that will start the others."""
    return not any(int(os.environ.get(name, "0")) for name in ("RANK", "LOCAL_RANK", "NODE_RANK", "SLURM_PROCID"))


def launch(devices: Devices, precision: str) -> Fabric:
    """Start Fabric, and with a strategy of several processes the other processes.

    Raises:
        ConfigError: If Fabric does not know the devices, or the strategy does not fit.
    """
    number: Any = devices.devices
    if isinstance(number, str) and number.lstrip("-").isdigit():
        number = int(number)
    _check_devices(devices, number)
    _check_strategy(devices.strategy)
    strategy = sharding(precision) if devices.strategy == "fsdp" else devices.strategy
    try:
        fabric = Fabric(
            accelerator=devices.accelerator,
            devices=number,
            strategy=strategy,
            num_nodes=devices.num_nodes,
            precision=precision,  # type: ignore[arg-type]
        )
    except (ValueError, TypeError, RuntimeError, ImportError) as error:
        settings = f"devices={devices.devices!r}, strategy={devices.strategy!r}, num_nodes={devices.num_nodes}"
        raise ConfigError(f"{settings}, accelerator={devices.accelerator!r}: {error}") from error
    fabric.launch()
    return fabric


def _check_strategy(strategy: str) -> None:
    """Refuse strategies that shard the weights in a way of their own."""
    if strategy != "fsdp" and any(name in strategy for name in _SHARDED):
        raise ConfigError(
            f"strategy={strategy!r} shards the weights in a way that validations and checkpoints here cannot "
            "gather: take fsdp, or ddp"
        )


def _check_devices(devices: Devices, number: Any) -> None:
    """Refuse more processes than cores, and several machines without rendezvous, which would wait for ever."""
    cores = os.cpu_count() or 1
    if accelerator_of(devices) == "cpu" and isinstance(number, int) and number > cores:
        raise ConfigError(f"devices={number}: this machine has {cores} cores")
    if devices.num_nodes > 1 and not any(name in os.environ for name in ("MASTER_ADDR", "SLURM_JOB_ID")):
        raise ConfigError(
            f"num_nodes={devices.num_nodes}: start the command on each machine, with MASTER_ADDR, MASTER_PORT and "
            "NODE_RANK set, as torchrun and Slurm do"
        )
