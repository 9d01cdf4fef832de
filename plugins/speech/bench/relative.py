"""Attention by content and offset, as in arXiv:1901.02860, beside Hugging Face's of Wav2Vec2Conformer."""

from typing import Any

import torch

import zoo
from zoo.bench import Case, Job
from zoo.core import Tokens

NAME, FRAMES = "conformer-small", 1000
"""The model whose attention is taken, and how many frames read each other."""


def jobs() -> tuple[Job, Job]:
    """Make our job and the peer's: the layer's answer to a sound and the gradients of vectors and weights.

    The peer is given the sinusoids of the offsets, as its encoder gives them to each layer; ours makes them.
    """
    from transformers import Wav2Vec2ConformerConfig
    from transformers.models.wav2vec2_conformer import modeling_wav2vec2_conformer

    peers: Any = modeling_wav2vec2_conformer
    torch.manual_seed(0)
    model: Any = zoo.create(NAME, dropout=0.0)
    dim, heads = (model.spec.config[key] for key in ("dim", "num_heads"))
    config: Any = Wav2Vec2ConformerConfig(
        hidden_size=dim, num_attention_heads=heads, position_embeddings_type="relative", attention_dropout=0.0
    )
    config._attn_implementation = "sdpa"  # what its models choose
    layer = peers.Wav2Vec2ConformerSelfAttention(config)
    x = torch.randn(1, FRAMES, dim, requires_grad=True)
    offsets = peers.Wav2Vec2ConformerRelPositionalEmbedding(config)(x)
    attention = model.encoder.blocks[0].attention

    def ours() -> None:
        torch.autograd.grad(attention(Tokens(x)).sum(), [x, *attention.parameters()])

    def theirs() -> None:
        answer = layer(x, relative_position_embeddings=offsets)[0]
        torch.autograd.grad(answer.sum(), [x, *layer.parameters()])

    return ours, theirs


CASES = [
    Case(
        f"{NAME} relative attention, {FRAMES:,} frames, forward + backward",
        "Wav2Vec2Conformer attention (SDPA)",
        0.5,
        build=jobs,
    )
]
