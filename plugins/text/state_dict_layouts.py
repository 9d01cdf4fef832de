"""How other libraries name the weights of the text models: one table for each layout, read in both directions."""

from zoo.core import Layout, in_blocks

BERT = Layout(
    signature="embeddings.word_embeddings.weight",
    prefix="bert.",
    names={
        "stem.tokens.embed.weight": "embeddings.word_embeddings.weight",
        "stem.tokens.position.table": "embeddings.position_embeddings.weight",
        "stem.segments.weight": "embeddings.token_type_embeddings.weight",
        "stem.norm.{p}": "embeddings.LayerNorm.{p}",
        "head.pooler.{p}": "pooler.dense.{p}",
        "head.linear.{p}": "classifier.{p}",
        "head.transform.{p}": "cls.predictions.transform.dense.{p}",
        "head.norm.{p}": "cls.predictions.transform.LayerNorm.{p}",
        "head.scores.bias": "cls.predictions.bias",
        **in_blocks(
            "encoder.blocks",
            "encoder.layer",
            {
                "attention.q": "attention.self.query.{p}",
                "attention.k": "attention.self.key.{p}",
                "attention.v": "attention.self.value.{p}",
                "attention.out": "attention.output.dense.{p}",
                "norm1": "attention.output.LayerNorm.{p}",
                "cross.q": "crossattention.self.query.{p}",
                "cross.k": "crossattention.self.key.{p}",
                "cross.v": "crossattention.self.value.{p}",
                "cross.out": "crossattention.output.dense.{p}",
                "cross_norm": "crossattention.output.LayerNorm.{p}",
                "mlp.up": "intermediate.dense.{p}",
                "mlp.down": "output.dense.{p}",
                "norm2": "output.LayerNorm.{p}",
            },
        ),
    },
    outside=("classifier.", "cls."),
    copies={
        "cls.predictions.decoder.bias": "cls.predictions.bias",
        "cls.predictions.decoder.weight": "embeddings.word_embeddings.weight",
    },
    unused=r"embeddings\.position_ids|cls\.seq_relationship\..*",
)
"""Hugging Face's `BertModel` and the models on it."""

GPT2 = Layout(
    signature="wte.weight",
    prefix="transformer.",
    names={
        "target.embed.weight": "wte.weight",
        "target.position.table": "wpe.weight",
        "decoder.norm.{p}": "ln_f.{p}",
        **in_blocks(
            "decoder.blocks",
            "h",
            {
                "norm1": "ln_1.{p}",
                "attention.qkv": "attn.c_attn.{p}",
                "attention.out": "attn.c_proj.{p}",
                "norm2": "ln_2.{p}",
                "mlp.up": "mlp.c_fc.{p}",
                "mlp.down": "mlp.c_proj.{p}",
            },
        ),
    },
    outside=("lm_head.",),
    copies={"lm_head.weight": "wte.weight"},
    unused=r"h\.\d+\.attn\.(masked_)?bias",
    transposed=r"h\.\d+\.(attn|mlp)\.c_\w+\.weight",
)
"""Hugging Face's `GPT2LMHeadModel`, which keeps matrices as Conv1D and, in older files, masks as weights."""

_MARIAN_PARTS = {
    "attention.q": "self_attn.q_proj.{p}",
    "attention.k": "self_attn.k_proj.{p}",
    "attention.v": "self_attn.v_proj.{p}",
    "attention.out": "self_attn.out_proj.{p}",
    "norm1": "self_attn_layer_norm.{p}",
    "mlp.up": "fc1.{p}",
    "mlp.down": "fc2.{p}",
    "norm2": "final_layer_norm.{p}",
}
_MARIAN_CROSS = {
    "cross.q": "encoder_attn.q_proj.{p}",
    "cross.k": "encoder_attn.k_proj.{p}",
    "cross.v": "encoder_attn.v_proj.{p}",
    "cross.out": "encoder_attn.out_proj.{p}",
    "cross_norm": "encoder_attn_layer_norm.{p}",
}
MARIAN = Layout(
    signature="shared.weight",
    prefix="model.",
    names={
        "target.embed.weight": "shared.weight",
        "target.position.table": "encoder.embed_positions.weight",
        "head.bias": "final_logits_bias",
        **in_blocks("encoder.blocks", "encoder.layers", _MARIAN_PARTS),
        **in_blocks("decoder.blocks", "decoder.layers", _MARIAN_PARTS | _MARIAN_CROSS),
    },
    outside=("lm_head.", "final_logits_bias"),
    copies={
        "encoder.embed_tokens.weight": "shared.weight",
        "decoder.embed_tokens.weight": "shared.weight",
        "lm_head.weight": "shared.weight",
        "decoder.embed_positions.weight": "encoder.embed_positions.weight",
    },
)
"""Hugging Face's `MarianMTModel`; its sines stand before its cosines, so its positions are read as a learned table."""

_TORCH_PARTS = {
    "attention.qkv": "self_attn.in_proj_{p}",
    "attention.out": "self_attn.out_proj.{p}",
    "norm1": "norm1.{p}",
    "mlp.up": "linear1.{p}",
    "mlp.down": "linear2.{p}",
}
_TORCH_CROSS = {
    "cross.qkv": "multihead_attn.in_proj_{p}",
    "cross.out": "multihead_attn.out_proj.{p}",
    "cross_norm": "norm2.{p}",
    "norm2": "norm3.{p}",
}
TORCH = Layout(
    signature="encoder.layers.0.self_attn.in_proj_weight",
    names={
        "encoder.norm.{p}": "encoder.norm.{p}",
        "decoder.norm.{p}": "decoder.norm.{p}",
        **in_blocks("encoder.blocks", "encoder.layers", _TORCH_PARTS | {"norm2": "norm2.{p}"}),
        **in_blocks("decoder.blocks", "decoder.layers", _TORCH_PARTS | _TORCH_CROSS),
    },
)
"""`torch.nn.Transformer`, which has neither embedding nor output."""
