"""The names of the graph plugin: one table of sizes, with its source. Nothing heavy is imported."""

from collections.abc import Iterator
from dataclasses import replace

from zoo import ModelSpec, SourceSpec, StudySpec, SuiteSpec, hookimpl
from zoo.plugins.graph.gat_sizes import GAT_MODELS
from zoo.plugins.graph.requirements import PYG, SCIPY
from zoo.plugins.graph.sources import MOLECULES, SOURCES, STUDIES

LIBRARIES = (PYG, SCIPY)

# name: (dim, depth, heads, mlp, parameters); base as arXiv:2012.09699 sec. 4, small and tiny for two cores
GRAPH = {
    "graph-tiny": (32, 3, 4, 64, 34_752),
    "graph-small": (64, 4, 4, 128, 154_048),
    "graph-base": (80, 10, 8, 160, 560_400),
}

# name: (dim, depth, heads, mlp, parameters); arXiv:2205.12454 app. A, for ZINC
GPS = {"gps-small": (64, 10, 4, 128, 533_952)}


@hookimpl
def zoo_models() -> Iterator[ModelSpec]:
    """Give every model of graphs."""
    for name, sizes in GRAPH.items():
        yield _model(name, "graph_transformer", sizes, "arXiv:2012.09699", "Attention on the edges.")
    for name, sizes in GPS.items():
        yield _model(
            name, "gps", sizes, "arXiv:2205.12454", "Attention on the edges, and to the whole graph, side by side."
        )
    yield from (replace(spec, requires=LIBRARIES) for spec in GAT_MODELS)


@hookimpl
def zoo_sources() -> tuple[SourceSpec, ...]:
    """Give the data sources of graphs."""
    return SOURCES


@hookimpl
def zoo_suites() -> tuple[SuiteSpec, ...]:
    """Give the benchmarks against peer libraries."""
    return (SuiteSpec(name="graph", package="zoo.plugins.graph.bench", title="Models of graphs against their peers"),)


@hookimpl
def zoo_studies() -> tuple[StudySpec, ...]:
    """Give the studies of graphs."""
    return STUDIES


def _model(name: str, entry: str, sizes: tuple[int, ...], source: str, description: str) -> ModelSpec:
    dim, depth, heads, mlp, parameters = sizes
    return ModelSpec(
        name=name,
        entry=f"zoo.plugins.graph.models.graph_transformer:{entry}",
        modality="graph",
        config={**MOLECULES, "dim": dim, "depth": depth, "num_heads": heads, "mlp_dim": mlp, "num_classes": 0,
                "position": "random-walk", "position_dim": 16},
        parameters=parameters,
        tasks=("classify", "tag", "link", "features"),
        example="zoo.plugins.graph.io.examples:example",
        preprocess="zoo.plugins.graph.io.preprocess:Preprocess",
        postprocess="zoo.plugins.graph.io.postprocess:Postprocess",
        classifier=("head.linear.",),
        requires=LIBRARIES,
        claims=("permutation-equivariant",),
        source=source,
        description=description,
    )  # fmt: skip
