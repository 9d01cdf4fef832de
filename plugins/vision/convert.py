"""Weights of timm, torchvision and Hugging Face in our layout, and back: one table for each layout.

The patch convolution is read as a matrix, and learned positions of another grid are interpolated.
"""

import math
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from zoo.core import Layout, Learned, Model
from zoo.plugins.shared.images.patch_embed import pair
from zoo.plugins.vision.plugin import VIT
from zoo.plugins.vision.tokens import transformed

StateDict = Mapping[str, Tensor]

TIMM = Layout(
    signature="patch_embed.proj.weight",
    names={
        "stem.class_token": "cls_token",
        "stem.position.table": "pos_embed",
        "stem.project.{p}": "patch_embed.proj.{p}",
        "encoder.blocks.{n}.norm1.{p}": "blocks.{n}.norm1.{p}",
        "encoder.blocks.{n}.norm2.{p}": "blocks.{n}.norm2.{p}",
        "encoder.blocks.{n}.attention.qkv.{p}": "blocks.{n}.attn.qkv.{p}",
        "encoder.blocks.{n}.attention.q_norm.{p}": "blocks.{n}.attn.q_norm.{p}",
        "encoder.blocks.{n}.attention.k_norm.{p}": "blocks.{n}.attn.k_norm.{p}",
        "encoder.blocks.{n}.attention.out.{p}": "blocks.{n}.attn.proj.{p}",
        "encoder.blocks.{n}.mlp.up.{p}": "blocks.{n}.mlp.fc1.{p}",
        "encoder.blocks.{n}.mlp.down.{p}": "blocks.{n}.mlp.fc2.{p}",
        "encoder.norm.{p}": "norm.{p}",
        "head.linear.{p}": "head.{p}",
    },
)
TORCHVISION = Layout(
    signature="conv_proj.weight",
    names={
        "stem.class_token": "class_token",
        "stem.position.table": "encoder.pos_embedding",
        "stem.project.{p}": "conv_proj.{p}",
        "encoder.blocks.{n}.norm1.{p}": "encoder.layers.encoder_layer_{n}.ln_1.{p}",
        "encoder.blocks.{n}.norm2.{p}": "encoder.layers.encoder_layer_{n}.ln_2.{p}",
        "encoder.blocks.{n}.attention.qkv.{p}": "encoder.layers.encoder_layer_{n}.self_attention.in_proj_{p}",
        "encoder.blocks.{n}.attention.out.{p}": "encoder.layers.encoder_layer_{n}.self_attention.out_proj.{p}",
        "encoder.blocks.{n}.mlp.up.{p}": "encoder.layers.encoder_layer_{n}.mlp.0.{p}",
        "encoder.blocks.{n}.mlp.down.{p}": "encoder.layers.encoder_layer_{n}.mlp.3.{p}",
        "encoder.norm.{p}": "encoder.ln.{p}",
        "head.linear.{p}": "heads.head.{p}",
    },
)
HUGGING_FACE = Layout(
    signature="embeddings.patch_embeddings.projection.weight",
    prefix="vit.",
    names={
        "stem.class_token": "embeddings.cls_token",
        "stem.position.table": "embeddings.position_embeddings",
        "stem.project.{p}": "embeddings.patch_embeddings.projection.{p}",
        "encoder.blocks.{n}.norm1.{p}": "layers.{n}.layernorm_before.{p}",
        "encoder.blocks.{n}.norm2.{p}": "layers.{n}.layernorm_after.{p}",
        "encoder.blocks.{n}.attention.q.{p}": "layers.{n}.attention.q_proj.{p}",
        "encoder.blocks.{n}.attention.k.{p}": "layers.{n}.attention.k_proj.{p}",
        "encoder.blocks.{n}.attention.v.{p}": "layers.{n}.attention.v_proj.{p}",
        "encoder.blocks.{n}.attention.out.{p}": "layers.{n}.attention.o_proj.{p}",
        "encoder.blocks.{n}.mlp.up.{p}": "layers.{n}.mlp.fc1.{p}",
        "encoder.blocks.{n}.mlp.down.{p}": "layers.{n}.mlp.fc2.{p}",
        "encoder.norm.{p}": "layernorm.{p}",
        "head.linear.{p}": "classifier.{p}",
    },
    outside=("classifier.",),
    unused=r"pooler\..*",  # of ViTModel only: a layer that BERT has and the vision transformer's paper does not
)
OLDER = {
    "mlp.linear_1.": "mlp.0.",
    "mlp.linear_2.": "mlp.3.",
    "encoder.layer.": "layers.",
    "attention.attention.query.": "attention.q_proj.",
    "attention.attention.key.": "attention.k_proj.",
    "attention.attention.value.": "attention.v_proj.",
    "attention.output.dense.": "attention.o_proj.",
    "intermediate.dense.": "mlp.fc1.",
    "output.dense.": "mlp.fc2.",
}
"""What checkpoints of torchvision before 0.14 and of transformers 4 have in their names, to what newer ones have."""
EPS = 1e-6
"""Of timm's layer norms."""


def to_zoo(state: StateDict, model: nn.Module) -> dict[str, Tensor]:
    """Give a vision transformer's weights in our layout; keys no table knows are kept, for the error that lists them.

    Args:
        state: weights in timm's, torchvision's, Hugging Face's or our layout.
        model: for the size of its grid: positions of another grid are interpolated.
    """
    ours, foreign = dict(state), False
    for layout in (TIMM, TORCHVISION, HUGGING_FACE):
        if (prefix := layout.found(state)) is not None:
            ours, foreign = layout.ours({_newer(key): value for key, value in state.items()}, prefix), True
            ours["stem.project.weight"] = fit_channels(ours["stem.project.weight"], model).flatten(1)
    position, table = getattr(getattr(model, "stem", None), "position", None), ours.get("stem.position.table")
    if table is not None:
        table = table.flatten(0, 1) if foreign else table
        ours["stem.position.table"] = (
            fit_grid(table, position, square=foreign) if isinstance(position, Learned) else table
        )
    return ours


def _newer(key: str) -> str:
    for older, newer in OLDER.items():
        key = key.replace(older, newer)
    return key


def to_layout(model: Model, layout: Layout) -> dict[str, Tensor]:
    """Give the weights of a vision transformer in another library's layout, without a prefix.

    Args:
        model: a `VisionTransformer` with class token and learned positions.
        layout: of the other library.

    Raises:
        ConfigError: If the other library has no name for a weight.
    """
    state = dict(model.state_dict())
    patch = model.stem.patch_size
    state["stem.project.weight"] = state["stem.project.weight"].unflatten(1, (-1, patch, patch))
    if "stem.position.table" in state:
        state["stem.position.table"] = state["stem.position.table"][None]
    return layout.peer(state)


def to_timm(model: Model) -> dict[str, Tensor]:
    """Give the weights of a vision transformer in timm's layout; see `to_layout`."""
    return to_layout(model, TIMM)


def export(model: Model) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
    """Give the `config.json` and the weights with which timm reads a vision transformer; None where it has no such one.

    Every size is spelled out, so that a model of sizes of its own is one of timm's, too.

    Args:
        model: made by name.
    """
    config = model.spec.config
    position = {"learned": "learn", "none": "none"}.get(config.get("position", "learned"))
    attends = config.get("attention", "full") in ("full", "qk-norm")
    if position is None or not attends or config.get("task", "classify") != "classify" or config.get("eps", EPS) != EPS:
        return None
    name, dim, patch = model.spec.name, config["dim"], config["patch_size"]
    sized = name if name in VIT else "vit-tiny"
    base = VIT[sized][0]
    first = config.get("pool", "first") == "first"
    ratio = config["mlp_dim"] / dim
    described = {
        "architecture": "_".join([*sized.split("-")[:2], f"patch{base}_224"]),
        "global_pool": "token" if first else "avg",
        "model_args": {
            "img_size": list(pair(config["image_size"])),
            "patch_size": patch,
            "in_chans": config["in_chans"],
            "embed_dim": dim,
            "depth": config["depth"],
            "num_heads": config["num_heads"],
            "mlp_ratio": ratio if int(dim * ratio) == config["mlp_dim"] else math.nextafter(ratio, math.inf),
            "qk_norm": config.get("attention") == "qk-norm",
            "class_token": first,
            "global_pool": "token" if first else "avg",
            "fc_norm": False,
            "pos_embed": position,
        },
        "pretrained_cfg": {
            **transformed(config),
            "fixed_input_size": True,
            "first_conv": "patch_embed.proj",
            "classifier": "head",
        },
    }
    return described, to_timm(model)


def timm_peer(model: Model) -> nn.Module:
    """Make timm's model of the same shape, with the weights of a `VisionTransformer` that has learned positions."""
    from timm.models import VisionTransformer

    first = model.encoder.blocks[0]
    height, width = (side * model.stem.patch_size for side in model.stem.position.shape)
    peer = VisionTransformer(
        img_size=(height, width),
        patch_size=model.stem.patch_size,
        in_chans=model.stem.in_chans,
        num_classes=model.num_classes,
        embed_dim=model.num_features,
        depth=len(model.encoder.blocks),
        num_heads=first.attention.num_heads,
        qk_norm=first.attention.q_norm is not None,
        mlp_ratio=first.mlp.up.out_features / model.num_features,
        class_token=model.stem.class_token is not None,
        global_pool="token" if model.stem.class_token is not None else "avg",
        fc_norm=False,
    )
    peer.load_state_dict(to_timm(model))
    return peer.train(model.training)


PREPARATION = ("input_size", "mean", "std", "crop_pct", "interpolation", "fixed_input_size", "first_conv", "classifier")
"""What of timm's `pretrained_cfg` says how images are prepared, and where the first and the last layer are."""


def timm_export(model: Any) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
    """Give the `config.json` and the weights with which timm reads a `TimmModel`; None if the labels are not its own.

    Args:
        model: made by name.
    """
    config: dict[str, Any] = model.spec.config
    net = model.net
    if config.get("task", "classify") != "classify":
        return None
    known = {key: net.pretrained_cfg[key] for key in PREPARATION if net.pretrained_cfg.get(key) is not None}
    own = ("architecture", "num_classes", "image_size", "tag", "task")
    options = {key: value for key, value in config.items() if key not in own}
    size = known.get("input_size", (3, 224, 224))[1:]
    if known.get("fixed_input_size") and config.get("image_size") is not None:
        size = pair(config["image_size"])
        options["img_size"] = list(size)
    known["input_size"] = [model.in_chans, *size]
    described = {"architecture": config["architecture"], "model_args": options, "pretrained_cfg": known}
    return described, net.state_dict()


def timm_to_zoo(state: StateDict, model: nn.Module) -> dict[str, Tensor]:
    """Give the weights of a timm network in the layout of `TimmModel`, which keeps it in `net`."""
    if any(key.startswith("net.") for key in state):
        return dict(state)
    return {f"net.{key}": value for key, value in state.items()}


def fit_channels(kernel: Tensor, model: nn.Module) -> Tensor:
    """Fit a patch kernel to the model's number of image channels, as timm does: summed for one, repeated for more."""
    wanted = getattr(getattr(model, "stem", None), "in_chans", kernel.shape[1])
    if wanted == kernel.shape[1]:
        return kernel
    from timm.models import adapt_input_conv

    return adapt_input_conv(wanted, kernel)


def fit_grid(table: Tensor, position: Learned, square: bool) -> Tensor:
    """Interpolate a square grid of learned positions to the model's grid; any other table is given back as it is.

    Args:
        table: prefix tokens, then the grid row by row.
        position: of the model.
        square: whether the grid is known to be square, as in published weights; else a table of the model's length
            is taken to be of the model's grid.
    """
    grid = len(table) - position.prefix
    side = math.isqrt(max(grid, 0))
    same = position.shape == (side, side) if square else table.shape == position.table.shape
    if same or side * side != grid:
        return table
    learned = Learned(table.shape[1], (side, side), position.prefix)
    learned.table = nn.Parameter(table, requires_grad=False)
    return learned(position.shape)
