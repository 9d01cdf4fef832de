"""Names such as `joined:vit-small+gpt2-small`: any encoder before any decoder. Nothing heavy is imported."""

from typing import Any

from zoo import ModelSpec, SuiteSpec, hookimpl
from zoo.plugins.joined.spec import PREFIX, check_given, joined_spec, settled


@hookimpl
def zoo_resolve(name: str) -> ModelSpec | None:
    """Describe `joined:ENCODER+DECODER`, or `ENCODER+DECODER` where this plugin alone is asked."""
    encoder, plus, decoder = name.removeprefix(PREFIX).partition("+")
    if not plus and not name.startswith(PREFIX):
        return None
    return joined_spec(encoder, decoder)


@hookimpl
def zoo_suites() -> tuple[SuiteSpec, ...]:
    """Give the benchmark against models that were made whole."""
    return (SuiteSpec(name="joined", package="zoo.plugins.joined.bench", title="Joined models against whole ones"),)


@hookimpl
def zoo_before_create(spec: ModelSpec, overrides: dict[str, Any]) -> None:
    """Refuse keywords of heads, which a joined model has none of."""
    if spec.name.startswith(PREFIX):
        check_given(spec, overrides)


@hookimpl
def zoo_after_create(model: Any, spec: ModelSpec) -> None:
    """Note in the record what the two parts were made with, as their weights or the caller say."""
    parts = getattr(model, "joined_specs", None)
    if parts is not None:
        model.spec = settled(spec, *parts)
