"""Random numbers of Python, NumPy and torch: seeded, saved as JSON, and restored after a training."""

import base64
import logging
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from zoo.data.batches.workers import flushes_denormal

FABRIC_LOG = "lightning_fabric"


def seed_all(*key: int) -> None:
    """Seed the random numbers of this process; each key has a stream of its own."""
    words = np.random.SeedSequence(key).generate_state(2, np.uint32)
    torch.manual_seed(int(words[0]))
    random.seed(int(words[0]))
    np.random.seed(int(words[1]))


def random_state(device: torch.device) -> dict[str, Any]:
    """Return the state of the random numbers as JSON values."""
    version, numbers, gauss = random.getstate()
    kind, keys, *rest = np.random.get_state(legacy=True)
    state = {
        "python": [version, list(numbers), gauss],
        "numpy": [kind, np.asarray(keys).tolist(), *rest],
        "torch": _packed(torch.get_rng_state()),
    }
    return state | ({"cuda": _packed(torch.cuda.get_rng_state(device))} if device.type == "cuda" else {})


def set_random_state(state: Mapping[str, Any], device: torch.device) -> None:
    """Restore a state of the random numbers."""
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    kind, keys, *rest = state["numpy"]
    np.random.set_state((kind, np.array(keys, np.uint32), *rest))
    torch.set_rng_state(_unpacked(state["torch"]))
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(_unpacked(state["cuda"]), device)


@contextmanager
def process_state_restored() -> Iterator[None]:
    """Restore what a training changes in the process: random numbers, Lightning's log level, denormal numbers."""
    logger = logging.getLogger(FABRIC_LOG)
    level, words, numbers, drawn = logger.level, random.getstate(), np.random.get_state(), torch.get_rng_state()
    flushes = flushes_denormal()
    try:
        yield
    finally:
        logger.setLevel(level)
        random.setstate(words)
        np.random.set_state(numbers)
        torch.set_rng_state(drawn)
        torch.set_flush_denormal(flushes)


def _packed(state: Tensor) -> str:
    return base64.b64encode(state.numpy().tobytes()).decode()


def _unpacked(text: str) -> Tensor:
    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8)
