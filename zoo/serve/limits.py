"""`Limits` of the server: on a request's bytes, inputs and time, on what one input holds, and on what waits."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from zoo.errors import ConfigError

AMOUNTS = {"pixels": 50_000_000, "samples": 10_000_000, "nodes": 100_000, "characters": 20_000}
"""The most that one input may hold, by unit: 10,000,000 samples are ten minutes at 16 kHz."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Say what the server accepts, and how it puts requests together.

    Args:
        max_bytes: of the body of a request.
        max_inputs: of a request.
        max_new: new tokens that a request may ask for.
        max_tokens: inputs x beam x new tokens of a request, and of a batch, at most.
        max_queue: inputs that wait at most; what comes then is refused with 503.
        max_batch: inputs that are computed together at most.
        max_wait: milliseconds at most that an input waits for others to come, while the model is idle.
        timeout: seconds from a request to its answer.
        amounts: what one input holds at most, by unit, as the model's preprocessing counts it.
    """

    max_bytes: int = 20_000_000
    max_inputs: int = 256
    max_new: int = 1024
    max_tokens: int = 65_536
    max_queue: int = 1024
    max_batch: int = 32
    max_wait: float = 2.0
    timeout: float = 60.0
    amounts: Mapping[str, int] = field(default_factory=lambda: dict(AMOUNTS))

    def __post_init__(self) -> None:
        for name in ("max_bytes", "max_inputs", "max_new", "max_tokens", "max_queue", "max_batch", "timeout"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name}={getattr(self, name)}: a limit is more than 0")
        if self.max_wait < 0:
            raise ConfigError(f"max_wait={self.max_wait}: milliseconds are 0 or more")
        if self.max_queue < self.max_inputs:
            raise ConfigError(f"max_queue={self.max_queue}: a request of max_inputs={self.max_inputs} would never fit")


def amounts_of(pairs: list[str]) -> dict[str, int]:
    """Read `pixels=50000000` and the like on top of the usual limits.

    Raises:
        ConfigError: If a unit is unknown, or no whole number stands behind it.
    """
    found = dict(AMOUNTS)
    for pair in pairs:
        unit, _, number = pair.partition("=")
        if unit not in AMOUNTS or not number.replace("_", "").isdigit():
            raise ConfigError(f"--max {pair!r}: write UNIT=NUMBER, with a unit of {', '.join(AMOUNTS)}")
        found[unit] = int(number)
    return found
