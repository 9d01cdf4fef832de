"""Where trainings run: what cannot be is refused before anything waits for it."""

import os

import pytest

from zoo.errors import ConfigError
from zoo.training.config import Devices
from zoo.training.distributed.devices import launch


def test_more_processes_than_cores_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with pytest.raises(ConfigError, match="devices=99: this machine has 2 cores"):
        launch(Devices(devices="99", accelerator="cpu"), "32-true")


def test_machines_that_do_not_know_of_each_other_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MASTER_ADDR", "SLURM_JOB_ID"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="num_nodes=2: start the command on each machine, with MASTER_ADDR"):
        launch(Devices(num_nodes=2, accelerator="cpu"), "32-true")


@pytest.mark.parametrize("strategy", ["fsdp_cpu_offload", "xla_fsdp", "deepspeed_stage_2"])
def test_other_strategies_that_part_the_weights_are_refused(strategy: str) -> None:
    with pytest.raises(ConfigError, match=rf"strategy='{strategy}' shards the weights in a way .* take fsdp, or ddp"):
        launch(Devices(strategy=strategy, accelerator="cpu"), "32-true")


def test_a_precision_that_fsdp_does_not_have_is_refused() -> None:
    with pytest.raises(ConfigError, match="precision='64-true' with strategy='fsdp': take 32-true, bf16-mixed"):
        launch(Devices(strategy="fsdp", accelerator="cpu"), "64-true")
