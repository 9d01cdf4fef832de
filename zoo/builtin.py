"""The plugin for what belongs to no modality: plain patterns and the studies."""

from zoo.hookspecs import hookimpl
from zoo.spec import AttentionSpec, Requirement, StudySpec

BENCH = tuple(
    Requirement(module=module, distribution=distribution, install="attention-zoo[bench]")
    for module, distribution in (
        ("sklearn", "scikit-learn"),
        ("matplotlib", "matplotlib"),
        ("lightning_fabric", "lightning-fabric"),
        ("timm", "timm"),
    )
)


@hookimpl
def zoo_attentions() -> list[AttentionSpec]:
    """Name the patterns and mechanisms that take no arguments."""
    return [
        AttentionSpec(name="full", entry="zoo.core.pattern:Full", description="Everyone reads everyone."),
        AttentionSpec(name="causal", entry="zoo.core.pattern:Causal", description="Each reads itself and the past."),
        AttentionSpec(
            name="qk-norm", entry="zoo.core.attention:normed", description="Queries and keys are normed, head by head."
        ),
    ]


@hookimpl
def zoo_studies() -> list[StudySpec]:
    """Name the studies of `zoo bench`."""
    return [
        StudySpec(
            name="data-size",
            entry="zoo.bench.datasize:command",
            description="How many examples until self-attention beats a CNN?",
            requires=BENCH,
        ),
        StudySpec(
            name="speed",
            entry="zoo.bench.speed:command",
            description="How fast is it here, and against its peer library?",
            requires=BENCH,
        ),
    ]
