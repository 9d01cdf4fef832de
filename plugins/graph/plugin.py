"""The names of the graph plugin: one table of sizes, with its source. Nothing heavy is imported."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from zoo import ComparisonSpec, ModelSpec, SourceSpec, StudySpec, SuiteSpec, hookimpl
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

# name: (dim, depth, heads, mlp, parameters); arXiv:2205.12454 app. A, for ZINC; micro of about those of graph-tiny
GPS = {"gps-micro": (32, 2, 4, 64, 33_760), "gps-small": (64, 10, 4, 128, 533_952)}

# name: (dim, depth, parameters); arXiv:1609.02907, of about the parameters of graph-tiny
GCN = {"gcn-micro": (56, 6, 30_632)}


@hookimpl
def zoo_models() -> Iterator[ModelSpec]:
    """Give every model of graphs."""
    for name, sizes in GRAPH.items():
        yield _model(name, "graph_transformer", sizes, "arXiv:2012.09699", "Attention on the edges.")
    for name, sizes in GPS.items():
        yield _model(
            name, "gps", sizes, "arXiv:2205.12454", "Attention on the edges, and to the whole graph, side by side."
        )
    for name, (dim, depth, parameters) in GCN.items():
        yield _spec(
            name,
            "pyg.gcn:gcn",
            {"dim": dim, "depth": depth},
            parameters,
            kind="convolution",
            source="arXiv:1609.02907",
            description="Graph convolutions of PyTorch Geometric, which weigh edges by degrees alone.",
        )
    yield from (replace(spec, requires=LIBRARIES) for spec in GAT_MODELS)


@hookimpl
def zoo_sources() -> tuple[SourceSpec, ...]:
    """Give the data sources of graphs."""
    return SOURCES


@hookimpl
def zoo_comparisons() -> tuple[ComparisonSpec, ...]:
    """Give the models whose learning curves are compared, and the data."""
    models = ("gcn-micro", "graph-tiny", "gps-micro")
    data = "drawn-graphs:components"
    return (ComparisonSpec(name="graph", data=data, models=models, quick_sizes=(100, 300, 1_000), quick_steps=300),)


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
    config = {"dim": dim, "depth": depth, "num_heads": heads, "mlp_dim": mlp}
    return _spec(name, f"models.graph_transformer:{entry}", config, parameters, source=source, description=description)


def _spec(name: str, entry: str, sizes: dict[str, int], parameters: int, **fields: Any) -> ModelSpec:
    return ModelSpec(
        name=name,
        entry=f"zoo.plugins.graph.{entry}",
        modality="graph",
        config={**MOLECULES, **sizes, "num_classes": 0, "position": "random-walk", "position_dim": 16},
        parameters=parameters,
        tasks=("classify", "tag", "link", "features"),
        example="zoo.plugins.graph.io.examples:example",
        preprocess="zoo.plugins.graph.io.preprocess:Preprocess",
        postprocess="zoo.plugins.graph.io.postprocess:Postprocess",
        classifier=("head.linear.",),
        requires=LIBRARIES,
        claims=("permutation-equivariant",),
        **fields,
    )
