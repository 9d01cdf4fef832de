import functools
import gc
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

ROOT = Path(__file__).parents[1]

if sys.dont_write_bytecode:  # then each process would compile torch, the zoo and the tests anew: half a minute
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(ROOT / ".pytest_cache" / "bytecode")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix  # for workers, and commands that tests start

# ruff: noqa: E402
import jaxtyping
import pytest
import torch
from hypothesis import settings

# the same random cases each time, so that a change is judged by itself; others where their number is asked for
settings.register_profile("same", derandomize=True, database=None)
settings.load_profile("default" if "ZOO_RANDOM_CASES" in os.environ else "same")

from tests.hub_stand_in import hub as hub

if "PYTEST_XDIST_WORKER" in os.environ:  # one process for each processor: threads would wait for each other
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)


def parts(annotation: Any) -> Iterator[Any]:
    """Give an annotation and all that it is made of."""
    yield annotation
    for part in annotation if isinstance(annotation, list) else get_args(annotation):
        yield from parts(part)


def is_shape(annotation: Any) -> bool:
    """Tell whether jaxtyping reads it."""
    return inspect.isclass(annotation) and issubclass(annotation, jaxtyping.AbstractArray)


def checked_once(fn: Any = None, *, typechecker: Any, usual: Callable[..., Any] = jaxtyping.jaxtyped) -> Any:
    """Check a call as `jaxtyping.jaxtyped` does, its arguments once, not twice, and its shapes only where it names any.

    The time of the tests is that of millions of small calls, and half of it was that of `jaxtyped`, which binds the
    arguments of each to its signature. Annotations that are text, generators, and what is no function are left to it.
    """
    if fn is None:
        return functools.partial(checked_once, typechecker=typechecker)
    hints = [part for hint in getattr(fn, "__annotations__", {}).values() for part in parts(hint)]
    is_text = any(isinstance(hint, str) for hint in hints)
    if is_text or not inspect.isfunction(fn) or inspect.isgeneratorfunction(fn):
        return usual(fn, typechecker=typechecker)
    checked = typechecker(fn)
    if any(map(is_shape, hints)):
        checked = usual(checked, typechecker=None)

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        return (fn if jaxtyping.config.jaxtyping_disable else checked)(*args, **kwargs)

    return call


vars(jaxtyping)["jaxtyped"] = checked_once  # what the import hook of the options in pyproject.toml decorates with


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what computes on a GPU where there is none."""
    if item.get_closest_marker("gpu") and not torch.cuda.is_available():
        pytest.skip("torch sees no GPU here")


@pytest.fixture(scope="session", params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> torch.device:
    """Give each device in turn: the CPU, and a GPU where there is one."""
    return torch.device(request.param)


@pytest.fixture
def on_device(device: torch.device) -> Iterator[None]:
    """Make tensors and models on each device in turn."""
    with device:
        yield


@pytest.fixture(autouse=True)
def _seeded() -> None:
    """Draw the same numbers in each test, whichever tests its process ran before."""
    torch.manual_seed(0)


def pytest_collectstart() -> None:
    """Draw the same numbers in each module when it is imported."""
    torch.manual_seed(0)


def pytest_collection_finish() -> None:
    """Leave what stays to the end, modules and tests, out of each search for garbage, which took a second each time.

    And draw no figure of a training's losses, which takes longer than a small training: see `losses_drawn`.
    """
    gc.collect()
    gc.freeze()
    from zoo.training.callbacks import save_run  # here, where the types of its calls are checked

    vars(save_run)["draw"] = lambda *_: None


@pytest.fixture
def losses_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let trainings draw their losses."""
    from zoo.training.callbacks import loss_curve, save_run

    monkeypatch.setattr(save_run, "draw", loss_curve.draw)


@pytest.fixture
def unchecked_shapes() -> Iterator[None]:
    """Leave out the checks of shapes at run time, which `torch.export` cannot read."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Keep tiny products from waiting for a second thread on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tasks on texts that rules make, such as `tags`, have few of them: thousands take seconds to write."""
    from zoo.plugins.text.data.synthetic import string_tasks, tasks

    monkeypatch.setattr(tasks, "SIZES", (300, 40, 60))
    monkeypatch.setattr(string_tasks, "_PER_LENGTH", {"train": 20, "validation": 2, "test": 2})


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
