"""The names of the speech plugin: one table of sizes, with its source. Nothing heavy is imported."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from zoo import ModelSpec, SourceSpec, SuiteSpec, hookimpl
from zoo.plugins.speech.sources import SOURCES

if TYPE_CHECKING:
    import typer

# name: (dim, depth, heads, mlp, parameters); small and base as the encoders of S2T-S and S2T-M in arXiv:2010.05171,
# tiny for two cores
SPEECH = {
    "speech-tiny": (128, 4, 4, 512, 873_472),
    "speech-small": (256, 12, 4, 2048, 16_039_936),
    "speech-base": (512, 12, 8, 2048, 38_739_968),
}

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


@hookimpl
def zoo_models() -> Iterator[ModelSpec]:
    """Give every speech model."""
    yield from _encoders()
    yield from _wav2vec2()
    yield from _synthesisers()


def _encoders() -> Iterator[ModelSpec]:
    for name, (dim, depth, heads, mlp, parameters) in SPEECH.items():
        yield ModelSpec(
            name=name,
            entry="zoo.plugins.speech.models.speech_transformer:speech_transformer",
            modality="speech",
            config={"bands": 80, "dim": dim, "depth": depth, "num_heads": heads, "mlp_dim": mlp, "num_classes": 0,
                    "window": 640, "position": "rotary", "normalise": "utterance", "dropout": 0.1,
                    "vocab_size": 260, "by": "ctc"},
            parameters=parameters,
            tasks=("classify", "tag", "features", "generate"),
            example="zoo.plugins.speech.io.examples:example",
            preprocess="zoo.plugins.speech.io.preprocess:Preprocess",
            reads="sound",
            postprocess="zoo.plugins.speech.io.postprocess:Postprocess",
            classifier=("head.linear.",),
            source="arXiv:1910.12977, arXiv:2010.05171",
            description="Each vector of 40 ms looks 640 ms to both sides.",
        )  # fmt: skip


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
