"""Measurements of speed on disk: each is stored when it is done, known by what was measured, where and with what.

What another processor, number of threads, package or version of the code has measured is another measurement: it stays
in the folder and is not used.
"""

import hashlib
import platform
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from functools import cache
from importlib import import_module
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import torch

from zoo.bench.grid.engine import Grid, Record
from zoo.bench.grid.results_store import Store
from zoo.bench.study.progress import NoProgress
from zoo.core.ops.products import chosen
from zoo.locking import locked
from zoo.names import counted

FOLDER = Path("runs/speed")
PACKAGES = ("zoo", "zoo.core", "zoo.plugins")
WHERE = ("processor", "gpu", "packages", "code", "products")


def here(device: str = "cpu", package: str = "zoo") -> dict[str, str]:
    """Tell what decides a time besides what is measured: processor, packages, code, and the rule of products.

    Args:
        device: that computes.
        package: whose code is measured, besides that of the zoo.
    """
    top = package.partition(".")[0]
    gpu = {"gpu": torch.cuda.get_device_name(device)} if device.startswith("cuda") else {}
    packages = f"torch {torch.__version__}, all {_packages()}"
    return {"processor": processor(), **gpu, "packages": packages, "code": _code(top), "products": chosen()}


def measured(
    work: str, configs: Sequence[Mapping[str, Any]], folder: Path, progress: NoProgress, retry_failed: bool = False
) -> Generator[list[Record], None, None]:
    """Measure what the folder does not hold yet, one after another in this process, and give the records after each.

    Args:
        work: see `Grid`.
        configs: of the measurements, each with its `threads` and with what `here` gives.
        folder: of the results.
        progress: that is shown.
        retry_failed: measure again what failed.

    Raises:
        FolderInUseError: If another process measures into the folder.
        DataError: If the folder cannot be used.
    """
    with locked(folder):
        store = Store(folder)
        counts = dict.fromkeys(config["threads"] for config in configs)
        grids = [
            Grid(work, [c for c in configs if c["threads"] == count], store, retry_failed=retry_failed, threads=count)
            for count in counts
        ]
        for line in filter(None, (store.message, _elsewhere(grids), *(grid.failures for grid in grids))):
            progress.say(line)
        todo = [config for grid in grids for config in grid.todo]
        yield [record for grid in grids for record in grid.records]
        with progress.tracking([dict(config) for config in configs], todo, 1) as advance:
            for grid in grids:
                with closing(grid.run(workers=0)) as results:
                    for config, result in results:
                        advance(config, result)
                        yield [record for each in grids for record in each.records]


def _elsewhere(grids: Sequence[Grid]) -> str:
    """Tell of measurements of the same that are not used, since they were made elsewhere or with something else."""

    def what(config: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
        return frozenset((key, str(value)) for key, value in config.items() if key not in WHERE)

    todo = {what(config): config for grid in grids for config in grid.todo}
    others = [r["config"] for r in (grids[0].store.records.values() if grids else ()) if what(r["config"]) in todo]
    if not others:
        return ""
    differ = {key for other in others for key in WHERE if other.get(key) != todo[what(other)].get(key)}
    many, be = counted(len(others), "measurement"), "is" if len(others) == 1 else "are"
    return f"{many} of the same in {grids[0].store.folder} {be} not used: another {', '.join(sorted(differ))}"


def processor() -> str:
    """Name the processor of this machine."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.lower().startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


@cache
def _packages() -> str:
    """Give a hash of the names and versions of all installed packages: peers are among them."""
    return _hash(sorted(f"{each.name} {each.version}".encode() for each in distributions()))


@cache
def _code(top: str) -> str:
    """Give a hash of the source files of the zoo and of another package."""
    folders = [Path(path) for name in dict.fromkeys((*PACKAGES, top)) for path in import_module(name).__path__]
    return _hash(path.read_bytes() for folder in folders for path in sorted(folder.rglob("*.py")))


def _hash(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()[:12]
