"""The names of the Conformer plugin: one table of sizes, with its source. Nothing heavy is imported."""

from collections.abc import Iterator
from typing import Any

from zoo import ModelSpec, hookimpl

# name: (dim, depth, heads, what else differs, parameters of the blocks and of the stem); arXiv:2005.08100 table 1, the
# encoders; tiny for two cores, micro of about the parameters of dscnn-micro
CONFORMER: dict[str, tuple[int, int, int, dict[str, Any], int]] = {
    "conformer-micro": (40, 2, 4, {"bands": 40, "mlp_dim": 80, "kernel_size": 15}, 83_920),
    "conformer-tiny": (96, 6, 4, {}, 6 * 227_328 + 259_200),
    "conformer-small": (144, 16, 4, {}, 16 * 506_880 + 582_336),
    "conformer-medium": (256, 16, 4, {}, 16 * 1_589_248 + 1_838_080),
    "conformer-large": (512, 17, 8, {}, 17 * 6_324_224 + 7_346_176),
}

# name: (image, patch, dim, depth, heads, channels inside a half step, kernel, parameters); 10 classes: about the
# parameters and operations of resnet-micro
PICTURES = {"conformer-vision-micro": (24, 4, 64, 3, 4, 128, 3, 197_130)}


@hookimpl
def zoo_models() -> Iterator[ModelSpec]:
    """Give every Conformer."""
    for name, (dim, depth, heads, changes, parameters) in CONFORMER.items():
        yield ModelSpec(
            name=name,
            entry="zoo.plugins.conformer.models:conformer",
            modality="speech",
            kind="hybrid",
            config={"stem": "mel", "bands": 80, "dim": dim, "depth": depth, "num_heads": heads, "mlp_dim": 4 * dim,
                    "kernel_size": 32, "num_classes": 0, "window": "full", "convolution": "same", "norm": "batch",
                    "position": "transformer-xl", "normalise": "utterance", "dropout": 0.1,
                    "vocab_size": 260, "by": "ctc", **changes},
            parameters=parameters,
            tasks=("classify", "tag", "features", "generate"),
            # the same sounds as for the speech plugin: entries are names, nothing of it is imported
            example="zoo.plugins.speech.io.examples:example",
            preprocess="zoo.plugins.speech.io.preprocess:Preprocess",
            reads="sound",
            postprocess="zoo.plugins.speech.io.postprocess:Postprocess",
            convert="zoo.plugins.conformer.convert:to_zoo",
            model_types=("wav2vec2-conformer",),
            configure="zoo.plugins.conformer.checkpoint_config:configure",
            classifier=("head.linear.",),
            peer="zoo.plugins.conformer.peers:peer",
            source="arXiv:2005.08100",
            description="The encoder, behind its convolutions to 40 ms.",
        )  # fmt: skip
    for name, (image, patch, dim, depth, heads, inside, kernel, parameters) in PICTURES.items():
        yield ModelSpec(
            name=name,
            entry="zoo.plugins.conformer.conformer_vision:VisionConformer",
            modality="vision",
            kind="hybrid",
            config={"image_size": image, "patch_size": patch, "in_chans": 3, "dim": dim, "depth": depth,
                    "num_heads": heads, "mlp_dim": inside, "kernel_size": kernel, "num_classes": 10,
                    "position": "learned", "attention": "qk-norm"},
            parameters=parameters,
            example="zoo.plugins.vision.tokens:example",
            preprocess="zoo.plugins.vision.tokens:preprocess",
            classifier=("head.linear.",),
            source="arXiv:2005.08100",
            description="On patches of a picture: the convolution goes over rows and columns.",
        )  # fmt: skip
