import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

if "PYTEST_XDIST_WORKER" in os.environ:  # one process for each processor: threads would wait for each other
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)


DEVICE = "ZOO_TEST_DEVICE"
"""Environment variable with the device of tests marked `gpu`, as `--device` sets it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--device", default="cpu", help="device of the tests marked gpu: cpu or cuda")


def pytest_configure(config: pytest.Config) -> None:
    """Tell helpers of tests which device is meant.

    Raises:
        pytest.UsageError: If the device is not here.
    """
    device = config.getoption("--device")
    if device not in ("cpu", "cuda"):
        raise pytest.UsageError(f"--device {device} is not one of cpu, cuda")
    if device == "cuda" and not torch.cuda.is_available():
        raise pytest.UsageError("--device cuda: torch sees no GPU here")
    os.environ[DEVICE] = device


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that take a device, before `-m` chooses."""
    for item in items:
        if {"device", "on_device"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.gpu)


@pytest.fixture(scope="session")
def device() -> torch.device:
    """Give the device of `--device`."""
    return torch.device(os.environ[DEVICE])


@pytest.fixture
def on_device(device: torch.device) -> Iterator[None]:
    """Make tensors and models on the device of `--device`."""
    if device.type == "cpu":
        yield
        return
    with device:
        yield


@pytest.fixture(autouse=True)
def _seeded() -> None:
    """Draw the same numbers in each test, whichever tests its process ran before."""
    torch.manual_seed(0)


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Keep tiny products from waiting for a second thread on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def float64() -> Iterator[None]:
    """Make tensors and models in float64, where two ways to compute agree to 1e-7 on every processor."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the cache in a folder of its own, and the hub out."""
    import datasets
    import huggingface_hub.constants

    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)


@pytest.fixture
def parquet(tmp_path: Path, offline: None) -> Callable[..., Path]:
    """Write columns as Parquet, with the types of `datasets` where these are given."""
    import datasets

    def write(name: str, features: Any = None, /, **columns: Any) -> Path:
        datasets.disable_progress_bars()
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        datasets.Dataset.from_dict(columns, features and datasets.Features(features)).to_parquet(path)
        return path

    return write
