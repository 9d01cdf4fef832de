"""Every hook, one sentence each; results are collected, checked in one place and only then taken over."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pluggy

from zoo.spec import AttentionSpec, ComparisonSpec, ModelSpec, SourceSpec, StudySpec, SuiteSpec

if TYPE_CHECKING:
    import torch
    import typer

ZOO_PLUGIN_API = 1
"""A plugin may set the same name to the version it was written for; another number is not loaded."""

hookspec = pluggy.HookspecMarker("zoo")
hookimpl = pluggy.HookimplMarker("zoo")


@hookspec
def zoo_models() -> Iterable[ModelSpec]:  # type: ignore[empty-body]
    """Return the models this plugin names."""


@hookspec
def zoo_attentions() -> Iterable[AttentionSpec]:  # type: ignore[empty-body]
    """Return the patterns and mechanisms that `attention=` can name."""


@hookspec
def zoo_sources() -> Iterable[SourceSpec]:  # type: ignore[empty-body]
    """Return the data sources that `--data` of trainings and studies can name."""


@hookspec
def zoo_studies() -> Iterable[StudySpec]:  # type: ignore[empty-body]
    """Return the studies that `zoo bench` can run."""


@hookspec
def zoo_comparisons() -> Iterable[ComparisonSpec]:  # type: ignore[empty-body]
    """Return the models and data that `zoo bench data-size --modality` compares by default."""


@hookspec
def zoo_suites() -> Iterable[SuiteSpec]:  # type: ignore[empty-body]
    """Return the suites that `zoo bench speed --suite` can run."""


@hookspec(firstresult=True)
def zoo_resolve(name: str) -> ModelSpec | None:
    """Return the model behind a name nobody listed, such as `timm:resnet50`, or None."""


@hookspec
def zoo_commands(app: "typer.Typer") -> None:
    """Add commands to the command line."""


@hookspec
def zoo_before_create(spec: ModelSpec, overrides: dict[str, Any]) -> None:
    """Observe or adapt the keywords of a model that is about to be built."""


@hookspec
def zoo_after_create(model: "torch.nn.Module", spec: ModelSpec) -> None:
    """Observe or adapt a model that was just built."""
