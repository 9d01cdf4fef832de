"""The names of the speech plugin: one table of sizes, with its source. Nothing heavy is imported."""

from collections.abc import Iterator

from zoo.hookspecs import hookimpl
from zoo.spec import ModelSpec

# name: (dim, depth, heads, mlp, parameters); small and base as the encoders of S2T-S and S2T-M in arXiv:2010.05171,
# tiny for two cores
SPEECH = {
    "speech-tiny": (128, 4, 4, 512, 873_472),
    "speech-small": (256, 12, 4, 2048, 16_039_936),
    "speech-base": (512, 12, 8, 2048, 38_739_968),
}


@hookimpl
def zoo_models() -> Iterator[ModelSpec]:
    """Give every speech model."""
    for name, (dim, depth, heads, mlp, parameters) in SPEECH.items():
        yield ModelSpec(
            name=name,
            entry="zoo.plugins.speech.models:SpeechTransformer",
            modality="speech",
            config={"bands": 80, "dim": dim, "depth": depth, "num_heads": heads, "mlp_dim": mlp, "num_classes": 0,
                    "window": 640, "position": "rotary", "normalise": "utterance", "dropout": 0.1},
            parameters=parameters,
            example="zoo.plugins.speech.examples:example",
            preprocess="zoo.plugins.speech.prepare:preprocess",
            source="arXiv:1910.12977, arXiv:2010.05171",
            description="Each vector of 40 ms looks 640 ms to both sides.",
        )  # fmt: skip
