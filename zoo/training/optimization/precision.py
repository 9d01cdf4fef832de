"""Precision of a training; `auto` follows the processor."""

import torch

from zoo.errors import ConfigError
from zoo.names import did_you_mean

PRECISIONS = ("auto", "32-true", "bf16-mixed", "16-mixed", "bf16-true", "64-true")


def resolve_precision(name: str, accelerator: str) -> str:
    """Resolve `auto` to the faster precision on this kind of machine.

    Args:
        name: `auto`, or a name of Fabric's.
        accelerator: `cpu`, `cuda` or another of Fabric's.

    Raises:
        ConfigError: If the name is unknown, or half precision is asked of a CPU.
    """
    if name not in PRECISIONS:
        raise ConfigError(f"precision={name!r} is not one of {', '.join(PRECISIONS)}.{did_you_mean(name, PRECISIONS)}")
    if name == "16-mixed" and accelerator == "cpu":
        raise ConfigError("precision='16-mixed' on a CPU: it has no fast float16; write bf16-mixed or 32-true")
    return profitable_precision(accelerator) if name == "auto" else name


def profitable_precision(accelerator: str = "auto") -> str:
    """Choose bf16 on accelerators and on CPUs with units for its matrices, else float32: never by a measurement.

    With AMX a product takes an eighth of the time and less; elsewhere the casts take what the products may gain.

    Args:
        accelerator: `cpu` where the accelerator of the machine, if any, is not used.
    """
    if (accelerator != "cpu" and torch.accelerator.is_available()) or torch.cpu.get_capabilities().get("amx_bf16"):
        return "bf16-mixed"
    return "32-true"
