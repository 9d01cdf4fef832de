"""Weights of timm, torchvision and Hugging Face in our layout, and back to timm's.

Each layout is a table of renames; `{q,k,v}` in three pieces are joined, and the patch convolution is read as a matrix.
"""

import math
import re
from collections.abc import Mapping

from torch import Tensor, nn

from zoo.core import Learned, Model, join_qkv

StateDict = Mapping[str, Tensor]

# pattern of the foreign key -> our key; the first that matches is used
TIMM = {
    r"cls_token": "stem.class_token",
    r"pos_embed": "stem.position.table",
    r"patch_embed\.proj\.(.*)": r"stem.project.\1",
    r"blocks\.(\d+)\.norm([12])\.(.*)": r"encoder.blocks.\1.norm\2.\3",
    r"blocks\.(\d+)\.attn\.qkv\.(.*)": r"encoder.blocks.\1.attention.qkv.\2",
    r"blocks\.(\d+)\.attn\.([qk])_norm\.(.*)": r"encoder.blocks.\1.attention.\2_norm.\3",
    r"blocks\.(\d+)\.attn\.proj\.(.*)": r"encoder.blocks.\1.attention.out.\2",
    r"blocks\.(\d+)\.mlp\.fc1\.(.*)": r"encoder.blocks.\1.mlp.up.\2",
    r"blocks\.(\d+)\.mlp\.fc2\.(.*)": r"encoder.blocks.\1.mlp.down.\2",
    r"norm\.(.*)": r"encoder.norm.\1",
    r"head\.(.*)": r"head.linear.\1",
}
TORCHVISION = {
    r"class_token": "stem.class_token",
    r"encoder\.pos_embedding": "stem.position.table",
    r"conv_proj\.(.*)": r"stem.project.\1",
    r"encoder\.layers\.encoder_layer_(\d+)\.ln_([12])\.(.*)": r"encoder.blocks.\1.norm\2.\3",
    r"encoder\.layers\.encoder_layer_(\d+)\.self_attention\.in_proj_(.*)": r"encoder.blocks.\1.attention.qkv.\2",
    r"encoder\.layers\.encoder_layer_(\d+)\.self_attention\.out_proj\.(.*)": r"encoder.blocks.\1.attention.out.\2",
    r"encoder\.layers\.encoder_layer_(\d+)\.mlp\.(?:0|linear_1)\.(.*)": r"encoder.blocks.\1.mlp.up.\2",
    r"encoder\.layers\.encoder_layer_(\d+)\.mlp\.(?:3|linear_2)\.(.*)": r"encoder.blocks.\1.mlp.down.\2",
    r"encoder\.ln\.(.*)": r"encoder.norm.\1",
    r"heads\.head\.(.*)": r"head.linear.\1",
}
# transformers 5 names its parts differently from 4; checkpoints of both are in use
HUGGING_FACE = {
    r"(?:vit\.)?embeddings\.cls_token": "stem.class_token",
    r"(?:vit\.)?embeddings\.position_embeddings": "stem.position.table",
    r"(?:vit\.)?embeddings\.patch_embeddings\.projection\.(.*)": r"stem.project.\1",
    r"(?:vit\.)?(?:encoder\.layer|layers)\.(\d+)\.layernorm_before\.(.*)": r"encoder.blocks.\1.norm1.\2",
    r"(?:vit\.)?(?:encoder\.layer|layers)\.(\d+)\.layernorm_after\.(.*)": r"encoder.blocks.\1.norm2.\2",
    r"(?:vit\.)?encoder\.layer\.(\d+)\.attention\.attention\.(q|k|v)\w+\.(.*)": r"encoder.blocks.\1.attention.\2.\3",
    r"(?:vit\.)?layers\.(\d+)\.attention\.(q|k|v)_proj\.(.*)": r"encoder.blocks.\1.attention.\2.\3",
    r"(?:vit\.)?encoder\.layer\.(\d+)\.attention\.output\.dense\.(.*)": r"encoder.blocks.\1.attention.out.\2",
    r"(?:vit\.)?layers\.(\d+)\.attention\.o_proj\.(.*)": r"encoder.blocks.\1.attention.out.\2",
    r"(?:vit\.)?encoder\.layer\.(\d+)\.intermediate\.dense\.(.*)": r"encoder.blocks.\1.mlp.up.\2",
    r"(?:vit\.)?layers\.(\d+)\.mlp\.fc1\.(.*)": r"encoder.blocks.\1.mlp.up.\2",
    r"(?:vit\.)?encoder\.layer\.(\d+)\.output\.dense\.(.*)": r"encoder.blocks.\1.mlp.down.\2",
    r"(?:vit\.)?layers\.(\d+)\.mlp\.fc2\.(.*)": r"encoder.blocks.\1.mlp.down.\2",
    r"(?:vit\.)?layernorm\.(.*)": r"encoder.norm.\1",
    r"classifier\.(.*)": r"head.linear.\1",
}
# the key that only this layout has
SIGNATURES = {
    "patch_embed.proj.weight": TIMM,
    "conv_proj.weight": TORCHVISION,
    "embeddings.patch_embeddings.projection.weight": HUGGING_FACE,
    "vit.embeddings.patch_embeddings.projection.weight": HUGGING_FACE,
}
# of ViTModel only: a layer that BERT has and the vision transformer's paper does not
UNUSED = re.compile(r"(?:vit\.)?pooler\.")


def to_zoo(state: StateDict, model: nn.Module) -> dict[str, Tensor]:
    """Give a vision transformer's weights in our layout; keys no table knows are kept, for the error that lists them.

    Args:
        state: weights in timm's, torchvision's, Hugging Face's or our layout.
        model: for the size of its grid: positions of another grid are interpolated.
    """
    table = next((table for key, table in SIGNATURES.items() if key in state), None)
    ours = dict(state) if table is None else translate(state, table, model)
    position = getattr(getattr(model, "stem", None), "position", None)
    if isinstance(position, Learned) and "stem.position.table" in ours:
        ours["stem.position.table"] = fit_grid(ours["stem.position.table"], position, square=table is not None)
    return ours


def translate(state: StateDict, table: Mapping[str, str], model: nn.Module) -> dict[str, Tensor]:
    """Rename the keys of a foreign layout by its table, and give the weights our shapes."""
    ours = join_qkv({rename(key, table): value for key, value in state.items() if not UNUSED.match(key)})
    ours["stem.project.weight"] = fit_channels(ours["stem.project.weight"], model).flatten(1)
    if "stem.position.table" in ours:
        ours["stem.position.table"] = ours["stem.position.table"].flatten(0, 1)
    return ours


def to_timm(model: Model) -> dict[str, Tensor]:
    """Give the weights of a vision transformer in timm's layout.

    Args:
        model: a `VisionTransformer` with class token and learned positions.
    """
    back = {
        "stem.class_token": "cls_token",
        "stem.position.table": "pos_embed",
        "stem.project.": "patch_embed.proj.",
        "encoder.blocks.": "blocks.",
        "encoder.norm.": "norm.",
        "head.linear.": "head.",
        ".attention.qkv.": ".attn.qkv.",
        ".attention.out.": ".attn.proj.",
        ".attention.q_norm.": ".attn.q_norm.",
        ".attention.k_norm.": ".attn.k_norm.",
        ".mlp.up.": ".mlp.fc1.",
        ".mlp.down.": ".mlp.fc2.",
    }
    state = {}
    for key, value in model.state_dict().items():
        for ours, timm in back.items():
            key = key.replace(ours, timm)
        state[key] = value
    patch = model.stem.patch_size
    state["patch_embed.proj.weight"] = state["patch_embed.proj.weight"].unflatten(1, (-1, patch, patch))
    if "pos_embed" in state:
        state["pos_embed"] = state["pos_embed"][None]
    return state


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


def timm_to_zoo(state: StateDict, model: nn.Module) -> dict[str, Tensor]:
    """Give the weights of a timm network in the layout of `TimmModel`, which keeps it in `net`."""
    if any(key.startswith("net.") for key in state):
        return dict(state)
    return {f"net.{key}": value for key, value in state.items()}


def rename(key: str, table: Mapping[str, str]) -> str:
    """Give our name of a key, or the key itself where the table has none."""
    for pattern, ours in table.items():
        if match := re.fullmatch(pattern, key):
            return match.expand(ours)
    return key


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
