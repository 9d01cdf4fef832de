"""Emformer, arXiv:2010.10759, in the engine's words: its segments are chunks, its right context are copies."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torchaudio.models import Emformer

from zoo.core import Attention, Chunk, Explicit, Lengths, Tokens
from zoo.core.engine.tracing import watch
from zoo.core.layers.blocks import PreNormBlock
from zoo.core.layers.mlp import Mlp
from zoo.core.layers.transformer import Stack
from zoo.core.ops.activations import relu
from zoo.core.patterns.pattern import Full, Pattern

pytestmark = pytest.mark.usefixtures("float64")

DIM, HEADS, INSIDE, DEPTH = 16, 4, 24, 2
TABLE = {
    "layer_norm_input": "blocks.0.norm1",
    "attention.emb_to_query": "blocks.0.attention.query",
    "attention.emb_to_key_value": "blocks.0.attention.rest",
    "attention.out_proj": "blocks.0.attention.out",
    "pos_ff.0": "blocks.0.norm2",
    "pos_ff.1": "blocks.0.mlp.up",
    "pos_ff.4": "blocks.0.mlp.down",
    "layer_norm_output": "norm",
}


def emformer(size: int, left: int, right: int = 0) -> Any:
    net = Emformer(DIM, HEADS, INSIDE, DEPTH, size, left_context_length=left, right_context_length=right)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return net.eval()


def like(net: Any, pattern: Pattern = Full()) -> Stack:
    """Give pre-norm blocks, each with a norm behind it, and the weights of Emformer's layers."""
    blocks = [
        Stack(
            [PreNormBlock(DIM, Attention(DIM, HEADS, pattern=pattern), Mlp(DIM, INSIDE, activation=relu), eps=1e-5)],
            nn.LayerNorm(DIM),
        )
        for _ in range(DEPTH)
    ]
    ours = Stack(blocks)
    state = {}
    for key, value in net.state_dict().items():
        _, layer, *names, kind = key.split(".")
        state[f"blocks.{layer}.{TABLE['.'.join(names)]}.{kind}"] = value
    for layer in range(DEPTH):
        start = f"blocks.{layer}.blocks.0.attention"
        for kind in ("weight", "bias"):
            parts = [state.pop(f"{start}.{name}.{kind}") for name in ("query", "rest")]
            state[f"{start}.qkv.{kind}"] = torch.cat(parts)
    ours.load_state_dict(state)
    return ours.eval()


def same(ours: Tensor, theirs: Tensor) -> None:
    assert theirs.abs().max() > 0.1
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)  # their weights are float32


@pytest.mark.parametrize("chunks", [0, 1, 3])
@pytest.mark.parametrize("n", [4, 12, 14])
def test_segments_with_whole_segments_before_them_are_chunks(chunks: int, n: int) -> None:
    net = emformer(4, 4 * chunks)
    pattern = Chunk(4, chunks)
    allowed = ~net._gen_attention_mask(torch.zeros(n, 1, DIM))
    assert torch.equal(allowed, pattern.mask(torch.arange(n)[None], torch.arange(n))[0, 0])
    x = torch.randn(2, n, DIM)
    same(like(net, pattern)(Tokens(x)).x, net(x, torch.tensor([n, n]))[0])


def test_the_band_reads_a_long_sound_as_emformer() -> None:
    net, used = emformer(16, 32), list[str]()
    x = torch.randn(1, 800, DIM)
    with watch(lambda plan, problem: used.append(plan.backend)), torch.no_grad():
        found = like(net, Chunk(16, 2))(Tokens(x)).x
        same(found, net(x, torch.tensor([800]))[0])
    assert set(used) == {"banded"}


def test_padding_is_left_out_as_theirs() -> None:
    net, lengths = emformer(4, 8), torch.tensor([14, 9])
    x = torch.randn(2, 14, DIM)
    ours = like(net, Chunk(4, 2))(Tokens(x, keys=Lengths(lengths))).x
    for row, n in enumerate(lengths.tolist()):
        same(ours[row, :n], net(x, lengths)[0][row, :n])


def laid_out(n: int, size: int, right: int) -> Tensor:
    """Give which frame stands at each place: after each segment copies of the frames that follow on it."""
    segments = [(start, min(start + size, n)) for start in range(0, n, size)]
    return torch.cat([torch.arange(start, end + right) for start, end in segments])


def right_context(n: int, size: int, left: int, right: int) -> Explicit:
    """Let frames and copies read their own segment and copies, and frames up to `left` before the segment."""
    frame = laid_out(n, size, right)
    segment = torch.cat([torch.full((min(size, n - s) + right,), s // size) for s in range(0, n, size)])
    copied = frame >= ((segment + 1) * size).clamp(max=n)
    start = segment * size
    before = ~copied & (frame < start[:, None]) & (frame >= start[:, None] - left)
    return Explicit((segment == segment[:, None]) | before)


@pytest.mark.parametrize(("n", "left", "right"), [(12, 4, 2), (12, 3, 1), (14, 6, 3), (3, 2, 2)])
def test_right_context_are_copies_that_only_their_segment_reads(n: int, left: int, right: int) -> None:
    net = emformer(4, left, right)
    x = torch.randn(2, n + right, DIM)
    frame = laid_out(n, 4, right)
    found = like(net, right_context(n, 4, left, right))(Tokens(x[:, frame])).x
    copies = torch.cat([torch.arange(min(4, n - s) + right) >= min(4, n - s) for s in range(0, n, 4)])
    same(found[:, ~copies], net(x, torch.tensor([n, n]))[0])
