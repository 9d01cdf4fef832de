"""Where a training runs: devices, strategy and machines, as Lightning Fabric takes them."""

import os
from dataclasses import dataclass
from typing import Any

import torch
from lightning_fabric import Fabric

from zoo.errors import ConfigError
from zoo.training.distributed.fsdp import parting

_PARTED = ("fsdp", "deepspeed")
"""In the names of strategies that part the weights; only `fsdp` itself is gathered here."""


@dataclass(frozen=True)
class Place:
    """Name the devices.

    Args:
        devices: how many, which, or `auto`.
        strategy: `auto`, `ddp`, `ddp_spawn`, ..., or `fsdp`, which parts the weights among the processes.
        num_nodes: machines.
        accelerator: `auto`, `cpu`, `cuda`, ...
    """

    devices: int | str | list[int] = "auto"
    strategy: str = "auto"
    num_nodes: int = 1
    accelerator: str = "auto"

    @property
    def kind(self) -> str:
        """Name the accelerator."""
        if self.accelerator != "auto":
            return self.accelerator
        return "cpu" if not torch.accelerator.is_available() else "cuda"

    @property
    def is_first(self) -> bool:
        """Whether this process is the first of all, or the one that will start the others."""
        return not any(int(os.environ.get(name, "0")) for name in ("RANK", "LOCAL_RANK", "NODE_RANK", "SLURM_PROCID"))

    def fabric(self, precision: str) -> Fabric:
        """Start Fabric, and with a strategy of several processes the other ones.

        Raises:
            ConfigError: If Fabric does not know the place, or the strategy does not fit.
        """
        devices: Any = self.devices
        if isinstance(devices, str) and devices.lstrip("-").isdigit():
            devices = int(devices)
        self._refuse_places(devices)
        self._refuse_parted()
        strategy = parting(precision) if self.strategy == "fsdp" else self.strategy
        try:
            fabric = Fabric(
                accelerator=self.accelerator,
                devices=devices,
                strategy=strategy,
                num_nodes=self.num_nodes,
                precision=precision,  # type: ignore[arg-type]
            )
        except (ValueError, TypeError, RuntimeError, ImportError) as error:
            asked = f"devices={self.devices!r}, strategy={self.strategy!r}, num_nodes={self.num_nodes}"
            raise ConfigError(f"{asked}, accelerator={self.accelerator!r}: {error}") from error
        fabric.launch()
        return fabric

    def _refuse_parted(self) -> None:
        """Refuse strategies that part the weights in a way of their own.

        Raises:
            ConfigError: If it is one.
        """
        if self.strategy != "fsdp" and any(name in self.strategy for name in _PARTED):
            raise ConfigError(
                f"strategy={self.strategy!r} parts the weights in a way that validations and checkpoints here cannot "
                "gather: take fsdp, or ddp"
            )

    def _refuse_places(self, devices: Any) -> None:
        """Refuse processes there is no room for, and machines that nobody told of each other: they would wait for ever.

        Raises:
            ConfigError: If there are such.
        """
        cores = os.cpu_count() or 1
        if self.kind == "cpu" and isinstance(devices, int) and devices > cores:
            raise ConfigError(f"devices={devices}: this machine has {cores} cores")
        if self.num_nodes > 1 and not any(name in os.environ for name in ("MASTER_ADDR", "SLURM_JOB_ID")):
            raise ConfigError(
                f"num_nodes={self.num_nodes}: start the command on each machine, with MASTER_ADDR, MASTER_PORT and "
                "NODE_RANK set, as torchrun and Slurm do"
            )
