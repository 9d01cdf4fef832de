"""The names; nothing heavy is imported."""

from zoo import ModelSpec, hookimpl

ZOO_PLUGIN_API = 1

# name: (dim, depth, heads, parameters)
SIZES = {"series-tiny": (32, 2, 2, 25_957), "series-small": (128, 4, 4, 795_269)}


@hookimpl
def zoo_models() -> list[ModelSpec]:
    """Name one model for each size."""
    return [
        ModelSpec(
            name=name,
            entry="zoo_timeseries.models:SeriesTransformer",
            example="zoo_timeseries.models:example",
            modality="timeseries",
            config={"channels": 3, "dim": dim, "depth": depth, "num_heads": num_heads, "num_classes": 5},
            parameters=parameters,
            classifier=("head.linear.",),
            tasks=("classify", "tag", "features"),
            description="Windows of a multivariate series, read by a transformer.",
        )
        for name, (dim, depth, num_heads, parameters) in SIZES.items()
    ]
