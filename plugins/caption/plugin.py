"""The names of the captioning plugin: one table of sizes, with its sources. Nothing heavy is imported."""

from collections.abc import Iterator
from typing import Any

from zoo import Kind, ModelSpec, SourceSpec, StudySpec, hookimpl
from zoo.plugins.caption.sources import SACREBLEU, SKLEARN, SOURCES, TIMM, TOKENIZERS

PICTURE: dict[str, Any] = {"vocab_size": 260, "image_size": 20, "patch_size": 4, "in_chans": 3, "label_smoothing": 0.0}

# name: (class, kind, what is added to `PICTURE`, parameters, source); for two cores
CAPTIONERS: dict[str, tuple[str, Kind, dict[str, Any], int, str]] = {
    "caption-rnn-tiny": (
        "recurrent:RecurrentCaptioner", "hybrid",
        {"stem": "cnn", "position": "sinusoidal", "dim": 64, "depth": 1, "cell": "lstm", "choice": "soft", "gate": True,
         "dropout": 0.1},
        115_473, "arXiv:1502.03044",
    ),
    "caption-tiny": (
        "transformer:TransformerCaptioner", "hybrid",
        {"stem": "cnn", "dim": 64, "depth": 2, "num_heads": 4, "mlp_dim": 128, "position": "sinusoidal",
         "max_len": 512, "dropout": 0.1},
        211_216, "arXiv:2106.14881, arXiv:1706.03762",
    ),
}  # fmt: skip


@hookimpl
def zoo_models() -> Iterator[ModelSpec]:
    """Give every captioning model."""
    for name, (entry, kind, config, parameters, source) in CAPTIONERS.items():
        yield ModelSpec(
            name=name,
            entry=f"zoo.plugins.caption.models.{entry}",
            modality="vision",
            kind=kind,
            config=PICTURE | config,
            parameters=parameters,
            task="generate",
            tasks=("generate",),
            example="zoo.plugins.caption.models.examples:example",
            # pictures are read as the vision plugin reads them, answers as the text plugin: entries are names
            preprocess="zoo.plugins.vision.tokens:preprocess",
            postprocess="zoo.plugins.text.io.entries:postprocess",
            source=source,
            description="Describes a picture.",
        )


@hookimpl
def zoo_sources() -> tuple[SourceSpec, ...]:
    """Give the source of pictures with captions."""
    return SOURCES


@hookimpl
def zoo_studies() -> tuple[StudySpec, ...]:
    """Give the study of where captioning models look."""
    return (
        StudySpec(
            name="captions",
            entry="zoo.plugins.caption.studies.study:STUDY",
            description="Soft, hard and doubly stochastic attention of captioning models, and where they look.",
            requires=(SKLEARN, TIMM, TOKENIZERS, SACREBLEU),
        ),
    )
