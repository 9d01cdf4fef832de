"""How other libraries name the weights that we have: one table for each layout, read in both directions.

In a name `{n}` stands for a block's number, `{p}` for `weight` or `bias`. Projections of queries, keys and values that
come apart there are `.q.`, `.k.` and `.v.` here, and are joined to `.qkv.` afterwards.
"""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from zoo.core.errors import ConfigError
from zoo.core.layout import join_qkv, split_qkv

State = Mapping[str, Tensor]
PARTS = {"{n}": r"(?P<n>\d+)", "{p}": r"(?P<p>weight|bias)"}


@dataclass(frozen=True)
class Layout:
    """Hold one library's names of a model's weights.

    Args:
        signature: the name, without the prefix, of a weight that only this layout has.
        names: ours to theirs.
        prefix: what may stand before their names.
        outside: how those of their names begin that the prefix never stands before.
        copies: their names of weights that are others' too, to those others; they are dropped where they are equal.
        unused: their names, as a pattern, of what is no weight, or none that we have.
        transposed: their names, as a pattern, of matrices that are stored with the channels in first.
    """

    signature: str
    names: Mapping[str, str]
    prefix: str = ""
    outside: tuple[str, ...] = ()
    copies: Mapping[str, str] = field(default_factory=dict)
    unused: str = "(?!)"
    transposed: str = "(?!)"

    def found(self, state: State) -> str | None:
        """Give the prefix with which a state dict has this layout; None if it has another."""
        ends = (key for key in state if key == self.signature or key.endswith(f".{self.signature}"))
        return next((key.removesuffix(self.signature) for key in ends), None)

    def ours(self, state: State, prefix: str) -> dict[str, Tensor]:
        """Give weights under our names; what the table does not know keeps its own."""
        theirs = {_modern(key.removeprefix(prefix)): value for key, value in state.items()}
        kept = [key for key in theirs if not (self._is_copy(key, theirs) or re.fullmatch(self.unused, key))]
        return join_qkv({self._name(key, back=False) or key: self._turned(key, theirs[key]) for key in kept})

    def theirs(self, state: State) -> dict[str, Tensor]:
        """Give weights under their names, without a prefix, and with the copies.

        Raises:
            ConfigError: If one has no name there.
        """
        apart = split_qkv(state) if any(".attention.q." in ours for ours in self.names) else state
        named = {key: self._name(key, back=True) for key in apart}
        lost = [key for key, theirs in named.items() if theirs is None]
        if lost:
            raise ConfigError(f"the other library has no name for {', '.join(lost)}")
        found = {theirs: self._turned(theirs, apart[key].detach()) for key, theirs in named.items() if theirs}
        return found | {copy: found[key] for copy, key in self.copies.items() if key in found}

    def prefixed(self, theirs: State) -> dict[str, Tensor]:
        """Put the prefix before their names."""
        return {key if key.startswith(self.outside) else self.prefix + key: value for key, value in theirs.items()}

    def _name(self, key: str, back: bool) -> str | None:
        for ours, theirs in self.names.items():
            here, there = (ours, theirs) if back else (theirs, ours)
            if match := re.fullmatch(_pattern(here), key):
                return there.format(**match.groupdict())
        return None

    def _is_copy(self, key: str, theirs: State) -> bool:
        other = theirs.get(self.copies.get(key, ""))
        return other is not None and (other.is_meta or torch.equal(theirs[key], other))

    def _turned(self, key: str, value: Tensor) -> Tensor:
        return value.T if re.fullmatch(self.transposed, key) else value


@functools.cache
def _pattern(name: str) -> str:
    pattern = re.escape(name)
    for part, group in PARTS.items():
        pattern = pattern.replace(re.escape(part), group)
    return pattern


def _modern(key: str) -> str:
    """Read the names that the first checkpoints of BERT have for gain and bias."""
    return re.sub(r"\.beta$", ".bias", re.sub(r"\.gamma$", ".weight", key))


def _block(ours: str, theirs: str, names: Mapping[str, str]) -> dict[str, str]:
    """Name the weights in each block of a stack."""
    return {f"{ours}.{{n}}.{own}.{{p}}": f"{theirs}.{{n}}.{other}" for own, other in names.items()}


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
        **_block(
            "encoder.blocks",
            "encoder.layer",
            {
                "attention.q": "attention.self.query.{p}",
                "attention.k": "attention.self.key.{p}",
                "attention.v": "attention.self.value.{p}",
                "attention.out": "attention.output.dense.{p}",
                "norm1": "attention.output.LayerNorm.{p}",
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
        **_block(
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
        **_block("encoder.blocks", "encoder.layers", _MARIAN_PARTS),
        **_block("decoder.blocks", "decoder.layers", _MARIAN_PARTS | _MARIAN_CROSS),
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
        **_block("encoder.blocks", "encoder.layers", _TORCH_PARTS | {"norm2": "norm2.{p}"}),
        **_block("decoder.blocks", "decoder.layers", _TORCH_PARTS | _TORCH_CROSS),
    },
)
"""`torch.nn.Transformer`, which has neither embedding nor output."""
