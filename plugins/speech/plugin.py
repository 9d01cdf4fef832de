"""The names of the speech plugin: one table of sizes, with its source. Nothing heavy is imported."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from zoo import ComparisonSpec, ModelSpec, SourceSpec, SuiteSpec, hookimpl
from zoo.plugins.speech.sources import SOURCES

if TYPE_CHECKING:
    import typer

# name: (dim, depth, heads, mlp, what else differs, parameters); small and base as the encoders of S2T-S and S2T-M in
# arXiv:2010.05171, tiny for two cores, micro of about the parameters of dscnn-micro
SPEECH: dict[str, tuple[int, int, int, int, dict[str, Any], int]] = {
    "speech-micro": (56, 3, 4, 112, {"bands": 40, "attention": "qk-norm"}, 93_632),
    "speech-tiny": (128, 4, 4, 512, {}, 873_472),
    "speech-small": (256, 12, 4, 2048, {}, 16_039_936),
    "speech-base": (512, 12, 8, 2048, {}, 38_739_968),
}

# name: (dim, depth, heads, mlp, parameters); arXiv:2010.05171 in small, for two cores
TRANSLATORS = {"speech-translator-tiny": (128, 4, 4, 512, 1_436_160)}

# name: (bands, channels, depth, parameters); arXiv:1711.07128, between the paper's DS-CNN-S and DS-CNN-M
DSCNN = {"dscnn-micro": (40, 128, 4, 92_928)}

# name: (dim, depth of encoder and of decoder, heads, mlp, parameters); arXiv:1809.08895 in small, for two cores
SYNTHESIS = {"speech-synthesis-tiny": (128, 3, 4, 512, 1_521_345)}


# name: (dim, depth, heads, mlp, how else it is made, parameters, tags of Hugging Face's weights); arXiv:2006.11477
# sec. 4.2; lv60 as its code makes the models of 60,000 hours: norms first, and of every frame
LV60 = {"conv_norm": "layer", "norm": "pre", "normalise": "utterance"}
WAV2VEC2: dict[str, tuple[int, int, int, int, dict[str, Any], int, dict[str, str]]] = {
    "wav2vec2-base": (768, 12, 12, 3072, {}, 94_370_944, {"pretrained": "base", "960h": "base-960h"}),
    "wav2vec2-large": (1024, 24, 16, 4096, {}, 315_427_968, {"pretrained": "large", "960h": "large-960h"}),
    "wav2vec2-large-lv60": (
        1024, 24, 16, 4096, LV60, 315_437_696,
        {"pretrained": "large-lv60", "960h": "large-960h-lv60", "xlsr": "large-xlsr-53"},
    ),
}  # fmt: skip

FRAMES: dict[str, Any] = {
    "modality": "speech",
    "example": "zoo.plugins.speech.io.examples:example",
    "preprocess": "zoo.plugins.speech.io.preprocess:Preprocess",
    "reads": "sound",
    "postprocess": "zoo.plugins.speech.io.postprocess:Postprocess",
    "classifier": ("head.linear.",),
}
"""What models on a vector for each 40 ms share."""


@hookimpl
def zoo_models() -> Iterator[ModelSpec]:
    """Give every speech model."""
    yield from _encoders()
    yield from _translators()
    yield from _cnns()
    yield from _wav2vec2()
    yield from _synthesisers()


def _encoders() -> Iterator[ModelSpec]:
    for name, (dim, depth, heads, mlp, changes, parameters) in SPEECH.items():
        yield ModelSpec(
            name=name,
            entry="zoo.plugins.speech.models.speech_transformer:speech_transformer",
            config={"bands": 80, "dim": dim, "depth": depth, "num_heads": heads, "mlp_dim": mlp, "num_classes": 0,
                    "window": 640, "position": "rotary", "normalise": "utterance", "dropout": 0.1,
                    "vocab_size": 260, "by": "ctc", **changes},
            parameters=parameters,
            tasks=("classify", "tag", "features", "generate"),
            source="arXiv:1910.12977, arXiv:2010.05171",
            description="Each vector of 40 ms looks 640 ms to both sides.",
            **FRAMES,
        )  # fmt: skip


def _translators() -> Iterator[ModelSpec]:
    for name, (dim, depth, heads, mlp, parameters) in TRANSLATORS.items():
        yield ModelSpec(
            name=name,
            entry="zoo.plugins.speech.models.speech_transformer:speech_transformer",
            config={"bands": 80, "dim": dim, "depth": depth, "num_heads": heads, "mlp_dim": mlp, "num_classes": 0,
                    "window": 640, "position": "rotary", "normalise": "utterance", "dropout": 0.1,
                    "vocab_size": 260, "task": "generate", "by": "attention"},
            parameters=parameters,
            task="generate",
            tasks=("generate",),
            source="arXiv:2010.05171",
            description="Writes what is said in another language.",
            **{key: value for key, value in FRAMES.items() if key != "classifier"},
        )  # fmt: skip


def _cnns() -> Iterator[ModelSpec]:
    for name, (bands, channels, depth, parameters) in DSCNN.items():
        yield ModelSpec(
            name=name,
            entry="zoo.plugins.speech.models.separable_cnn:separable_cnn",
            kind="convolution",
            config={"bands": bands, "channels": channels, "depth": depth, "num_classes": 0, "normalise": "utterance"},
            parameters=parameters,
            source="arXiv:1711.07128",
            description="Depthwise-separable convolutions over time and bands, a vector each 40 ms.",
            **FRAMES,
        )


def _wav2vec2() -> Iterator[ModelSpec]:
    for name, (dim, depth, heads, mlp, made, parameters, tags) in WAV2VEC2.items():
        yield ModelSpec(
            name=name,
            entry="zoo.plugins.speech.models.wav2vec2:wav2vec2",
            modality="speech",
            config={"stem": "wave", "dim": dim, "depth": depth, "num_heads": heads, "mlp_dim": mlp, "num_classes": 0,
                    "position": "convolution", "dropout": 0.1, "vocab_size": 260, "by": "ctc", **made},
            parameters=parameters,
            task="tag",
            tasks=("classify", "tag", "features", "generate"),
            example="zoo.plugins.speech.io.examples:example",
            preprocess="zoo.plugins.speech.io.preprocess:Preprocess",
            reads="sound",
            postprocess="zoo.plugins.speech.io.postprocess:Postprocess",
            convert="zoo.plugins.speech.convert:to_zoo",
            model_types=("wav2vec2",),
            configure="zoo.plugins.speech.checkpoint_config:configure",
            classifier=("head.linear.",),
            peer="zoo.plugins.speech.peers:peer",
            weights={tag: f"hf-hub:facebook/wav2vec2-{repository}" for tag, repository in tags.items()},
            source="arXiv:2006.11477",
            description="A vector every 20 ms from the samples themselves.",
        )  # fmt: skip


def _synthesisers() -> Iterator[ModelSpec]:
    for name, (dim, depth, heads, mlp, parameters) in SYNTHESIS.items():
        yield ModelSpec(
            name=name,
            entry="zoo.plugins.speech.models.text_to_speech:Synthesiser",
            modality="speech",
            config={"vocab_size": 260, "dim": dim, "depth": depth, "num_heads": heads, "mlp_dim": mlp, "bands": 80,
                    "reduction": 4, "max_steps": 500, "dropout": 0.1, "before_dropout": 0.5},
            parameters=parameters,
            task="generate",
            tasks=("generate",),
            example="zoo.plugins.speech.io.tts_postprocess:example",
            preprocess="zoo.plugins.text.io.entries:source",  # an entry is a name: nothing of it is imported
            reads="source",
            postprocess="zoo.plugins.speech.io.tts_postprocess:postprocess",
            source="arXiv:1809.08895, arXiv:1710.08969",
            description="From characters to frames, four at each step, and from these to samples.",
        )  # fmt: skip


@hookimpl
def zoo_sources() -> tuple[SourceSpec, ...]:
    """Give the data sources of speech."""
    return SOURCES


@hookimpl
def zoo_comparisons() -> tuple[ComparisonSpec, ...]:
    """Give the models whose learning curves are compared, and the data."""
    models = ("dscnn-micro", "speech-micro", "conformer-micro")
    return (
        ComparisonSpec(
            name="speech",
            aliases=("sound", "audio"),
            data="spoken-digits",
            models=models,
            quick_sizes=(100, 300),
            quick_steps=100,
        ),
    )


@hookimpl
def zoo_suites() -> tuple[SuiteSpec, ...]:
    """Give the benchmarks against peer libraries."""
    return (SuiteSpec(name="speech", package="zoo.plugins.speech.bench", title="Speech models against their peers"),)


@hookimpl
def zoo_commands(app: "typer.Typer") -> None:
    """Add `zoo transcribe` and `zoo say`."""
    from zoo.plugins.speech.cli.say import say
    from zoo.plugins.speech.cli.transcribe import transcribe

    app.command("transcribe")(transcribe)
    app.command("say")(say)
