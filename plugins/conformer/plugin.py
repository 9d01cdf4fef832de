"""The names of the Conformer plugin: one table of sizes, with its source. Nothing heavy is imported."""

from collections.abc import Iterator

from zoo.hookspecs import hookimpl
from zoo.spec import ModelSpec

# name: (dim, depth, heads, parameters of the blocks and of the stem); arXiv:2005.08100 table 1, the encoders; tiny for
# two cores
CONFORMER = {
    "conformer-tiny": (96, 6, 4, 6 * 227_328 + 259_200),
    "conformer-small": (144, 16, 4, 16 * 506_880 + 582_336),
    "conformer-medium": (256, 16, 4, 16 * 1_589_248 + 1_838_080),
    "conformer-large": (512, 17, 8, 17 * 6_324_224 + 7_346_176),
}


@hookimpl
def zoo_models() -> Iterator[ModelSpec]:
    """Give every Conformer."""
    for name, (dim, depth, heads, parameters) in CONFORMER.items():
        yield ModelSpec(
            name=name,
            entry="zoo.plugins.conformer.models:Conformer",
            modality="speech",
            kind="hybrid",
            config={"bands": 80, "dim": dim, "depth": depth, "num_heads": heads, "mlp_dim": 4 * dim, "kernel_size": 32,
                    "num_classes": 0, "window": "full", "convolution": "same", "norm": "batch",
                    "position": "transformer-xl", "normalise": "utterance", "dropout": 0.1},
            parameters=parameters,
            # the same sounds as for the speech plugin: entries are names, nothing of it is imported
            example="zoo.plugins.speech.examples:example",
            preprocess="zoo.plugins.speech.prepare:preprocess",
            source="arXiv:2005.08100",
            description="The encoder, behind its convolutions to 40 ms.",
        )  # fmt: skip
