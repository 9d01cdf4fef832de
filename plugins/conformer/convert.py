"""Weights of torchaudio's and Hugging Face's Conformers in our layout.

Each layout is a table of renames; queries, keys and values in three pieces are joined, and pointwise kernels are read
as matrices. What torchaudio computes has no positions: build with `attention=Attention`. All have odd kernels only.
"""

import re
from collections.abc import Mapping

from torch import Tensor

from zoo.core.layout import join_qkv

State = Mapping[str, Tensor]

# pattern of the foreign key inside a block -> ours; the first that matches is used
TORCHAUDIO = {
    r"ffn([12])\.sequential\.1\.(.*)": r"mlp\1.up.\2",
    r"ffn([12])\.sequential\.4\.(.*)": r"mlp\1.down.\2",
    r"ffn1\.sequential\.0\.(.*)": r"norm1.\1",
    r"ffn2\.sequential\.0\.(.*)": r"norm3.\1",
    r"self_attn_layer_norm\.(.*)": r"norm2.\1",
    r"self_attn\.in_proj_(.*)": r"attention.qkv.\1",
    r"self_attn\.out_proj\.(.*)": r"attention.out.\1",
    r"conv_module\.layer_norm\.(.*)": r"convolution.norm.\1",
    r"conv_module\.sequential\.0\.(.*)": r"convolution.gated.\1",
    r"conv_module\.sequential\.2\.(.*)": r"convolution.depthwise.\1",
    r"conv_module\.sequential\.3\.(.*)": r"convolution.inner_norm.\1",
    r"conv_module\.sequential\.5\.(.*)": r"convolution.out.\1",
    r"final_layer_norm\.(.*)": r"norm.\1",
}
WAV2VEC2 = {
    r"ffn([12])\.intermediate_dense\.(.*)": r"mlp\1.up.\2",
    r"ffn([12])\.output_dense\.(.*)": r"mlp\1.down.\2",
    r"ffn1_layer_norm\.(.*)": r"norm1.\1",
    r"ffn2_layer_norm\.(.*)": r"norm3.\1",
    r"self_attn_layer_norm\.(.*)": r"norm2.\1",
    r"self_attn\.linear_(q|k|v|out)\.(.*)": r"attention.\1.\2",
    r"self_attn\.linear_pos\.(.*)": r"attention.position.project.\1",
    r"self_attn\.pos_bias_(u|v)": r"attention.position.\1",
    r"conv_module\.layer_norm\.(.*)": r"convolution.norm.\1",
    r"conv_module\.pointwise_conv1\.(.*)": r"convolution.gated.\1",
    r"conv_module\.depthwise_conv\.(.*)": r"convolution.depthwise.\1",
    r"conv_module\.batch_norm\.(.*)": r"convolution.inner_norm.\1",
    r"conv_module\.pointwise_conv2\.(.*)": r"convolution.out.\1",
    r"final_layer_norm\.(.*)": r"norm.\1",
}
PARAKEET = {
    r"feed_forward([12])\.linear1\.(.*)": r"mlp\1.up.\2",
    r"feed_forward([12])\.linear2\.(.*)": r"mlp\1.down.\2",
    r"norm_feed_forward1\.(.*)": r"norm1.\1",
    r"norm_feed_forward2\.(.*)": r"norm3.\1",
    r"norm_self_att\.(.*)": r"norm2.\1",
    r"self_attn\.(q|k|v)_proj\.(.*)": r"attention.\1.\2",
    r"self_attn\.o_proj\.(.*)": r"attention.out.\1",
    r"self_attn\.relative_k_proj\.(.*)": r"attention.position.project.\1",
    r"self_attn\.bias_(u|v)": r"attention.position.\1",
    r"norm_conv\.(.*)": r"convolution.norm.\1",
    r"conv\.pointwise_conv1\.(.*)": r"convolution.gated.\1",
    r"conv\.depthwise_conv\.(.*)": r"convolution.depthwise.\1",
    r"conv\.norm\.(.*)": r"convolution.inner_norm.\1",
    r"conv\.pointwise_conv2\.(.*)": r"convolution.out.\1",
    r"norm_out\.(.*)": r"norm.\1",
}
# what stands before the number of a block, the key in it that only this layout has, and its table
LAYOUTS = (
    (r"conformer_layers", "self_attn.in_proj_weight", TORCHAUDIO),
    (r"(?:wav2vec2_conformer\.)?(?:encoder\.)?layers", "self_attn.linear_q.weight", WAV2VEC2),
    (r"(?:encoder\.)?layers", "self_attn.q_proj.weight", PARAKEET),
)
# of Wav2Vec2Conformer: the norm behind the last block, and a positional convolution that it has and does not use
LAST_NORM = re.compile(r"(?:wav2vec2_conformer\.)?(?:encoder\.)?layer_norm\.(weight|bias)")
UNUSED = re.compile(r"(?:wav2vec2_conformer\.)?(?:encoder\.)?pos_conv_embed\..*")


def to_zoo(state: State) -> dict[str, Tensor]:
    """Give a Conformer's weights in the layout of `conformer_encoder`; keys no table knows are kept for the error.

    Args:
        state: weights of `torchaudio.models.Conformer`, Hugging Face's Wav2Vec2Conformer or Parakeet encoder, or ours.
            The second has a norm behind the last block: `norm` of a `Stack`.
    """
    for before, signature, table in LAYOUTS:
        if any(re.fullmatch(rf"{before}\.\d+\.{re.escape(signature)}", key) for key in state):
            renamed = {
                rename(key, before, table): as_matrix(key, value)
                for key, value in state.items()
                if not UNUSED.fullmatch(key)
            }
            return join_qkv(renamed)
    return dict(state)


def rename(key: str, before: str, table: Mapping[str, str]) -> str:
    """Give our name of a key, or the key itself where there is none.

    Args:
        key: the foreign key.
        before: pattern of what stands before the number of a block.
        table: patterns of keys inside a block, and ours.
    """
    if match := LAST_NORM.fullmatch(key):
        return f"norm.{match[1]}"
    if block := re.fullmatch(rf"{before}\.(\d+)\.(.*)", key):
        for pattern, ours in table.items():
            if match := re.fullmatch(pattern, block[2]):
                return f"blocks.{block[1]}.{match.expand(ours)}"
    return key


def as_matrix(key: str, value: Tensor) -> Tensor:
    """Read the kernel of a pointwise convolution as a matrix; a depthwise one has one channel in and stays."""
    pointwise = re.search(r"conv(?:_module)?\.(?:pointwise_conv[12]|sequential\.[05])\.weight", key)
    return value.squeeze(2) if pointwise else value
