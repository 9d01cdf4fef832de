"""A toy modality on the parts of `zoo.core`, registries with nothing else, and the command line as a shell has it."""

import io
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import zoo
from tests.page_commands.published import SIZES, write_bert
from zoo import ModelSpec, Registry, hookimpl
from zoo.cli.app import main
from zoo.core import Attention, Encoder, Lengths, Model, Tokens
from zoo.core.layers.heads import head
from zoo.registry.lookup import using

Run = Callable[..., tuple[int, str, str]]
SIZE: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}
PATIENCE = 180_000
"""Milliseconds that a browser may take, on a machine that is busy."""
QUIET = ("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")  # fmt: skip


class Stem(nn.Module):
    def __init__(self, channels: int, dim: int) -> None:
        super().__init__()
        self.proj = nn.Linear(channels, dim)

    def forward(self, x: Tensor, lengths: Tensor) -> Tokens:
        keys = Lengths(lengths)
        return Tokens(self.proj(Tokens(x, keys=keys).without_padding().x), keys=keys)


class Toy(Model):
    def __init__(
        self,
        channels: int,
        dim: int,
        depth: int = 2,
        num_classes: int = 3,
        task: str = "classify",
        attention: Callable[..., nn.Module] = Attention,
        position: str = "none",
    ) -> None:
        self.position = position
        super().__init__(
            Stem(channels, dim),
            Encoder(dim, depth, 2, 2 * dim, attention=attention),
            head(task, dim, num_classes, pool="mean"),
        )


class Conv(nn.Module):
    def __init__(self, dim: int = 4) -> None:
        super().__init__()
        self.linear = nn.Linear(dim, dim)


def example(config: dict[str, Any], batch_size: int, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(2, 6, (batch_size,), generator=generator)
    return torch.randn(batch_size, 5, config["channels"], generator=generator), lengths


def preprocess(config: dict[str, Any], train: bool) -> Callable[[Any], Any]:
    return lambda raw: (raw, train, config["channels"])


def spec(name: str = "toy-small", **fields: Any) -> ModelSpec:
    defaults: dict[str, Any] = {
        "entry": f"{__name__}:Toy",
        "modality": "points",
        "config": {"channels": 3, "dim": 8, "depth": 2, "num_classes": 3},
        "example": f"{__name__}:example",
        "preprocess": f"{__name__}:preprocess",
    }
    return ModelSpec(name=name, **(defaults | fields))


class Plugin:
    """Offer the records given, under a name."""

    def __init__(self, *models: ModelSpec, name: str = "toys") -> None:
        self.__name__ = name
        self.models = models

    @hookimpl
    def zoo_models(self) -> tuple[ModelSpec, ...]:
        return self.models


@pytest.fixture
def toy_spec() -> Callable[..., ModelSpec]:
    return spec


@pytest.fixture
def toy_plugin() -> Callable[..., Plugin]:
    return Plugin


@pytest.fixture
def toys() -> Iterator[Registry]:
    """Let zoo.create and the rest see toy models only, and the built-in patterns."""
    conv = spec("conv-small", entry=f"{__name__}:Conv", config={"dim": 4}, kind="convolution", preprocess=None)
    weights = {"first": "hf-hub:toys/first", "second": "hf-hub:toys/second"}
    plugin = Plugin(spec(weights=weights), spec("toy-large", modality="nodes"), spec("toy-large-10"), conv)
    with using(Registry(plugins=["zoo.registry.builtin", plugin], autoload=False)) as registry:
        yield registry


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Write an installed distribution with a plugin, as a wheel would leave it."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(distribution: str, entry: str, code: str, version: str = "1.0") -> None:
        module = distribution.replace("-", "_") + "_module"
        (tmp_path / f"{module}.py").write_text(code)
        info = tmp_path / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[zoo.plugins]\n{entry} = {module}\n")

    return write


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command line; give its exit code and what it wrote."""
    # Set, so that the end of the test restores what --debug and the command line leave behind.
    monkeypatch.setenv("ZOO_DEBUG", "")
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)

    def command(*arguments: str, piped: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["zoo", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(piped)))
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        return code, *capsys.readouterr()

    return command


@pytest.fixture
def writer(tmp_path: Path) -> str:
    """Save a small translator that reads and writes bytes."""
    torch.manual_seed(0)
    model = zoo.create("transformer-tiny", **SIZE)
    zoo.weights.save(model, tmp_path / "writer")
    read: Any = zoo.preprocess("transformer-tiny")
    read.tokenizer.save(tmp_path / "writer" / "tokenizer.json")
    return str(tmp_path / "writer")


@pytest.fixture(scope="module")
def browser() -> Iterator[Callable[..., Any]]:
    """Start Chromium, and give what opens a window of a width; skipped where none is installed: none is downloaded."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: uv sync installs it")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("no chromium is installed: apt-get install chromium")
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=chromium, args=list(QUIET), timeout=PATIENCE)

        def window(width: int, **options: Any) -> Any:
            context = launched.new_context(viewport={"width": width, "height": 900}, **options)
            context.set_default_timeout(PATIENCE)
            return context

        yield window
        launched.close()


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a small BERT with random weights stand for the published `bert-base`."""
    spec = zoo.info("bert-base")
    for key, value in SIZES["bert-base"].items():
        monkeypatch.setitem(spec.config, key, value)
    monkeypatch.setitem(spec.weights, "uncased", f"local-dir:{tmp_path / 'weights'}")
    torch.manual_seed(0)
    write_bert(tmp_path / "weights")
