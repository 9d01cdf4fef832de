"""The names of the vision plugin: one table of sizes for each family, with its source. Nothing heavy is imported."""

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from zoo import AttentionSpec, ComparisonSpec, Kind, ModelSpec, SourceSpec, UnknownModelError, hookimpl
from zoo.plugins.vision.sources import SOURCES, TIMM
from zoo.plugins.vision.timm_methods.names import names_here, spelled, vit_architecture
from zoo.registry import broken, require

# name: (patch, dim, depth, heads, mlp, parameters, tags of timm's weights)
# arXiv:2010.11929 table 1 and, for tiny and small, arXiv:2106.10270 table 2; 224 pixels, 1000 classes
VIT = {
    "vit-tiny": (16, 192, 12, 3, 768, 5_717_416, ("augreg_in21k_ft_in1k",)),
    "vit-small": (16, 384, 12, 6, 1536, 22_050_664, ("augreg_in21k_ft_in1k", "augreg_in1k")),
    "vit-small-p8": (8, 384, 12, 6, 1536, 22_055_272, ()),
    "vit-small-p32": (32, 384, 12, 6, 1536, 22_878_952, ("augreg_in21k_ft_in1k",)),
    "vit-base": (16, 768, 12, 12, 3072, 86_567_656, ("augreg2_in21k_ft_in1k", "augreg_in21k_ft_in1k", "augreg_in1k")),
    "vit-base-p8": (8, 768, 12, 12, 3072, 86_576_872, ("augreg2_in21k_ft_in1k", "augreg_in21k_ft_in1k")),
    "vit-base-p32": (32, 768, 12, 12, 3072, 88_224_232, ("augreg_in21k_ft_in1k", "augreg_in1k", "sam_in1k")),
    "vit-large": (16, 1024, 24, 16, 4096, 304_326_632, ("augreg_in21k_ft_in1k",)),
    "vit-large-p14": (14, 1024, 24, 16, 4096, 304_203_752, ()),
    "vit-large-p32": (32, 1024, 24, 16, 4096, 306_535_400, ("orig_in21k",)),
    "vit-huge": (14, 1280, 32, 16, 5120, 632_045_800, ("orig_in21k",)),
}

# name: (image, patch, dim, depth, heads, mlp, parameters); mean pooling, normed queries and keys, 10 classes
VIT_SMALL_IMAGES = {
    "vit-micro": (24, 8, 80, 4, 4, 160, 225_770),
    "vit-mini": (32, 4, 192, 6, 3, 384, 1_807_690),
}

# name: (image, patch, dim, depth, heads, mlp, parameters); arXiv:1911.03584 sec. 4, mean pooling, 10 classes: about the
# parameters and operations of resnet-micro
CONV_ATTENTION = {"conv-attention-micro": (24, 4, 64, 3, 9, 128, 165_275)}

# name: (timm's architecture, parameters, tags of timm's weights); arXiv:1512.03385 table 1, arXiv:1912.11370
TIMM_NETS = {
    "resnet-18": ("resnet18", 11_689_512, ("a1_in1k", "tv_in1k")),
    "resnet-34": ("resnet34", 21_797_672, ("a1_in1k", "tv_in1k")),
    "resnet-50": ("resnet50", 25_557_032, ("a1_in1k", "tv_in1k")),
    "resnet-101": ("resnet101", 44_549_160, ("a1_in1k", "tv_in1k")),
    "resnet-152": ("resnet152", 60_192_808, ("a1_in1k", "tv_in1k")),
    "bit-r50x1": ("resnetv2_50x1_bit", 25_549_352, ("goog_in21k_ft_in1k",)),
    "bit-r50x3": ("resnetv2_50x3_bit", 217_319_080, ("goog_in21k_ft_in1k",)),
    "bit-r101x1": ("resnetv2_101x1_bit", 44_541_480, ("goog_in21k_ft_in1k",)),
    "bit-r101x3": ("resnetv2_101x3_bit", 387_934_888, ("goog_in21k_ft_in1k",)),
    "bit-r152x2": ("resnetv2_152x2_bit", 236_335_208, ("goog_in21k_ft_in1k",)),
    "bit-r152x4": ("resnetv2_152x4_bit", 936_533_224, ("goog_in21k_ft_in1k",)),
}

# name: (size, parameters); arXiv:1512.03385 sec. 4.2 in spirit, 24 pixels, 10 classes
RESNET_SMALL_IMAGES: dict[str, tuple[dict[str, Any], int]] = {
    "resnet-micro": ({"stem": 16, "layers": [1, 1], "channels": [48, 96], "strides": [2, 2]}, 159_738),
    "resnet-micro-fine": ({"stem": 20, "layers": [1, 1, 1], "channels": [20, 40, 80], "strides": [1, 2, 2]}, 121_390),
    "resnet-micro-deep": ({"stem": 20, "layers": [2, 2, 2], "channels": [20, 40, 80], "strides": [1, 2, 2]}, 273_150),
}

# name: (size of the network, size of the transformer, parameters); arXiv:2010.11929 sec. 3.1, 24 pixels, 10 classes
HYBRID: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    "hybrid-micro": (
        {"layers": [1], "channels": [48], "strides": [2]},
        {"patch_size": 4, "dim": 80, "depth": 2, "num_heads": 4, "mlp_dim": 160, "attention": "qk-norm"},
        196_698,
    )
}


@hookimpl
def zoo_models() -> Iterator[ModelSpec]:
    """Give every vision model."""
    for name, (patch, dim, depth, heads, mlp, parameters, tags) in VIT.items():
        arch = vit_architecture(name, patch)
        yield _vit(name, parameters, tags and {tag: f"hf-hub:timm/{arch}.{tag}" for tag in tags},
                   patch_size=patch, dim=dim, depth=depth, num_heads=heads, mlp_dim=mlp,
                   image_size=224, in_chans=3, num_classes=1000)  # fmt: skip
    for name, (image, patch, dim, depth, heads, mlp, parameters) in VIT_SMALL_IMAGES.items():
        yield _vit(name, parameters, {}, patch_size=patch, dim=dim, depth=depth, num_heads=heads, mlp_dim=mlp,
                   image_size=image, in_chans=3, num_classes=10, pool="mean", attention="qk-norm")  # fmt: skip
    for name, (image, patch, dim, depth, heads, mlp, parameters) in CONV_ATTENTION.items():
        config = {"patch_size": patch, "dim": dim, "depth": depth, "num_heads": heads, "mlp_dim": mlp,
                  "image_size": image, "in_chans": 3, "num_classes": 10, "pool": "mean", "position": "none",
                  "attention": "quadratic"}  # fmt: skip
        yield _image_model(
            name, "models:VisionTransformer", "attention", parameters, config=config, source="arXiv:1911.03584"
        )
    for name, (architecture, parameters, tags) in TIMM_NETS.items():
        weights = {tag: f"hf-hub:timm/{architecture}.{tag}" for tag in tags}
        classifier = ("head.fc",) if name.startswith("bit-") else ("fc",)
        yield replace(_timm(name, architecture, weights, classifier), parameters=parameters, kind="convolution")
    small = {"image_size": 24, "in_chans": 3, "num_classes": 10}
    for name, (net, parameters) in RESNET_SMALL_IMAGES.items():
        yield _image_model(
            name,
            "timm_wrapper:small_resnet",
            "convolution",
            parameters,
            config=net | small,
            source="timm",
            classifier=("net.fc.", "head.linear."),
        )
    for name, (net, transformer, parameters) in HYBRID.items():
        config = net | transformer | small
        yield _image_model(
            name, "timm_wrapper:HybridTransformer", "hybrid", parameters, config=config, source="arXiv:2010.11929"
        )


@hookimpl
def zoo_attentions() -> tuple[AttentionSpec, ...]:
    """Name the attention that contains the convolution: it reads grids."""
    return (
        AttentionSpec(
            name="quadratic",
            entry="zoo.core:quadratic",
            takes="[ROWS,COLUMNS]",
            description="By place alone: each head learns where on the grid to look, and how sharply.",
        ),
    )


@hookimpl
def zoo_sources() -> tuple[SourceSpec, ...]:
    """Give the data sources of images."""
    return SOURCES


@hookimpl
def zoo_comparisons() -> tuple[ComparisonSpec, ...]:
    """Give the models whose learning curves are compared, and the data."""
    models = ("resnet-micro", "vit-micro", "hybrid-micro")
    return (
        ComparisonSpec(
            name="vision",
            aliases=("image", "images"),
            data="cards",
            models=models,
            quick_sizes=(300, 1_000),
            quick_steps=700,
        ),
    )


@hookimpl
def zoo_resolve(name: str) -> ModelSpec | None:
    """Reach timm's names: `vit_small_patch16_224` is a model here; others are `timm:NAME` or `timm:NAME.TAG`."""
    source, colon, architecture = name.partition(":")
    if colon and source != "timm":
        return None
    own = None if colon else _named_by_timm(*spelled(name).partition(".")[::2])
    if own is not None:
        return own
    if not colon and ("_" not in name or find_spec("timm") is None):
        return None
    require(name, (TIMM,))
    broken(name, (TIMM,))
    from zoo.plugins.vision.timm_registry import MISSPELT, describe, near_names, unknown

    found = describe(spelled(architecture if colon else name))
    if found is None:
        if colon:
            raise unknown(architecture)
        if near_names(name, MISSPELT):
            raise unknown(name, "", MISSPELT)
        return None
    weights = {tag: f"hf-hub:timm/{found.architecture}.{tag}" for tag in found.tags}
    spec = _timm(name if colon else f"timm:{name}", found.architecture, weights, found.classifier)
    spec = spec.with_config(image_size=found.image_size, in_chans=found.in_chans)
    return replace(spec.with_config(tag=found.tag) if found.tag else spec, kind=found.kind)


def _named_by_timm(architecture: str, tag: str) -> ModelSpec | None:
    """Give the model here that timm names so, with the weights of a tag alone.

    Raises:
        UnknownModelError: If it has no weights of that tag.
    """
    own = names_here(VIT, TIMM_NETS).get(architecture)
    if own is None:
        return None
    spec = next(spec for spec in zoo_models() if spec.name == own)
    if tag and tag not in spec.weights:
        valid = ", ".join(spec.weights) or "none"
        raise UnknownModelError(f"Unknown tag ({tag}) of model '{own}', timm's {architecture}. Valid tags: {valid}.")
    return replace(spec, weights={tag: spec.weights[tag]}) if tag else spec


def _vit(name: str, parameters: int, weights: Any, **config: Any) -> ModelSpec:
    return _image_model(
        name,
        "models:VisionTransformer",
        "attention",
        parameters,
        config=config,
        source="arXiv:2010.11929",
        weights=weights or {},
        convert="zoo.plugins.vision.convert:to_zoo",
        export="zoo.plugins.vision.convert:export",
        peer="zoo.plugins.vision.convert:timm_peer",
    )


def _timm(name: str, architecture: str, weights: dict[str, str], classifier: tuple[str, ...]) -> ModelSpec:
    """Describe a network of timm; its classifier is there named, and for the task `tag` it is ours."""
    return _image_model(
        name,
        "timm_wrapper:timm_model",
        "convolution",
        config={"architecture": architecture, "num_classes": 1000},
        source=f"timm {architecture}",
        weights=weights,
        classifier=(*(f"net.{module}." for module in classifier), "head.linear.") if classifier else (),
        convert="zoo.plugins.vision.convert:timm_to_zoo",
        export="zoo.plugins.vision.convert:timm_export",
        preprocess="zoo.plugins.vision.tokens:timm_preprocess",
    )


def _image_model(name: str, entry: str, kind: Kind, parameters: int | None = None, **fields: Any) -> ModelSpec:
    defaults: dict[str, Any] = {
        "preprocess": "zoo.plugins.vision.tokens:preprocess",
        "example": "zoo.plugins.vision.tokens:example",
        "classifier": ("head.linear.",),
        "tasks": ("classify", "multi-label", "tag", "features"),
    }
    return ModelSpec(
        name=name,
        entry=f"zoo.plugins.vision.{entry}",
        modality="vision",
        kind=kind,
        parameters=parameters,
        requires=() if kind == "attention" else (TIMM,),
        **(defaults | fields),
    )
