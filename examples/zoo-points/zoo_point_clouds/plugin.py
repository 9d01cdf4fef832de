"""The names; nothing heavy is imported."""

from collections.abc import Iterator

from zoo import ComparisonSpec, Kind, ModelSpec, SourceSpec, hookimpl

ZOO_PLUGIN_API = 1

# name: (entry, what mixes the points, dim, depth, parameters)
MODELS: dict[str, tuple[str, Kind, int, int, int]] = {
    "cloud-tiny": ("cloud_transformer", "attention", 48, 2, 43_108),
    "cloud-net-tiny": ("cloud_net", "convolution", 64, 2, 42_372),
}


@hookimpl
def zoo_models() -> Iterator[ModelSpec]:
    """Name the transformer and the network to compare it with."""
    for name, (entry, kind, dim, depth, parameters) in MODELS.items():
        yield ModelSpec(
            name=name,
            entry=f"zoo_point_clouds.models:{entry}",
            example="zoo_point_clouds.models:example",
            preprocess="zoo_point_clouds.data:preprocess",
            modality="point-clouds",
            config={"dim": dim, "depth": depth, "num_classes": 4},
            kind=kind,
            parameters=parameters,
            classifier=("head.linear.",),
            claims=("permutation-equivariant",),
            source="arXiv:1612.00593" if kind == "convolution" else "arXiv:1810.00825",
            description="Sets of points in space, classified.",
        )


@hookimpl
def zoo_sources() -> list[SourceSpec]:
    """Name the user's files, and shapes drawn by a rule."""
    return [
        SourceSpec(
            name="clouds",
            modality="point-clouds",
            corpus="zoo_point_clouds.data:open_folder",
            takes="DIR",
            folder=True,
            tasks=("classify",),
            description="files x y z, in one folder for each class",
        ),
        SourceSpec(
            name="shapes",
            modality="point-clouds",
            corpus="zoo_point_clouds.shapes:open_shapes",
            takes="[COUNT]",
            drawn=True,
            description="spheres, cubes, cylinders and rings, drawn by a rule",
        ),
    ]


@hookimpl
def zoo_comparisons() -> list[ComparisonSpec]:
    """Compare the learning curves of both models on shapes."""
    models = ("cloud-net-tiny", "cloud-tiny")
    return [ComparisonSpec(name="point-clouds", data="shapes:400", models=models, aliases=("points",))]
