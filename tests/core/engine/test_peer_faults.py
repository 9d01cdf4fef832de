"""Every fault that we know of other libraries, and that we do not have it; theirs is shown where that is quick.

The list is that of the project's notes on the engine ("where the peers are weak").
"""

import warnings
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from zoo.core import (
    Attention,
    Causal,
    Chunk,
    ConfigError,
    Edges,
    Encoder,
    Full,
    Kernel,
    Lengths,
    Segments,
    Tokens,
    TransformerXL,
    Valid,
    Window,
    attend,
)
from zoo.core.backends import BACKENDS
from zoo.core.patterns.padding import Keys
from zoo.core.patterns.pattern import Pattern
from zoo.core.patterns.sparse import lra_local


def draw(seed: int, n: int, b: int = 1, h: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    made = [torch.randn(b, n, h, 4, generator=generator, dtype=torch.float64) for _ in range(3)]
    return made[0], made[1], made[2]


def answers(
    seed: int, n: int, pattern: Pattern, keys: Keys | None = None, b: int = 1, norm: str | Kernel = "softmax"
) -> dict[str, Tensor]:
    """Ask every backend that serves; those of double precision on this machine are at least two."""
    found = {}
    for name in BACKENDS:
        try:
            found[name] = attend(*draw(seed, n, b), pattern, keys, backend=name, norm=norm)
        except ConfigError as refusal:
            if f"backend='{name}' cannot serve" not in str(refusal):
                raise
    assert len(found) >= 2
    return found


def readers(read: Callable[[Tensor], Tensor], n: int) -> Tensor:
    """Find out which value (column) reaches which answer (row)."""
    values = torch.eye(n, dtype=torch.float64)
    return torch.stack([read(value) != 0 for value in values], dim=1)


def reads(pattern: Pattern, n: int, keys: Keys | None = None, backend: str = "auto") -> Tensor:
    q, k, _ = draw(0, n)
    return readers(
        lambda v: attend(q, k, v[None, :, None, None].expand(1, n, 2, 1), pattern, keys, backend=backend)[0, :, 0, 0], n
    )


def kept_bytes(compute: Callable[[], object]) -> int:
    """Count what autograd keeps for the backward pass."""
    storages: dict[int, int] = {}

    def keep(x: Tensor) -> Tensor:
        storages[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        compute()
    return sum(storages.values())


# x-transformers


LEFT_PADDED = torch.tensor([[False, False, True, True, True, True]])


def test_a_left_padded_query_reads_nothing_instead_of_the_average_of_all() -> None:
    for backend, y in answers(1, 6, Causal(), Valid(LEFT_PADDED)).items():
        assert not y[:, :2].any(), backend
        assert y[:, 2:].any(), backend


def test_x_transformers_averages_all_keys_there_unless_it_is_told_to_be_flash() -> None:
    attention = pytest.importorskip("x_transformers.attend").Attend
    q, k, v = (x.float().transpose(1, 2) for x in draw(1, 6))
    slow, flash = (
        attention(causal=True, flash=flash)(q, k, v, mask=LEFT_PADDED[:, None, None])[0] for flash in (False, True)
    )
    torch.testing.assert_close(slow[:, :, 0], v.mean(2))  # of padding and future too
    assert not flash[:, :, 0].any()


def test_what_is_not_causal_reads_ahead_on_every_backend() -> None:
    q, k, v = draw(2, 6)
    moved = v.clone()
    moved[:, -1] += 1
    for backend in answers(2, 6, Full()):
        before, after = (attend(q, k, x, Full(), backend=backend) for x in (v, moved))
        assert ((before - after).abs() > 0).all(), backend


# local-attention


@pytest.mark.parametrize("n", [1, 7, 12, 13])
def test_a_window_reads_as_many_keys_at_every_phase_and_any_length(n: int) -> None:
    i = torch.arange(n)
    wanted = (i[None] <= i[:, None]) & (i[None] > i[:, None] - 4)
    for backend in answers(3, n, Window(3, 0)):
        assert (reads(Window(3, 0), n, backend=backend) == wanted).all(), backend


def test_local_attention_reads_one_to_eight_keys_in_a_window_of_four() -> None:
    local = pytest.importorskip("local_attention").LocalAttention
    attention = local(dim=4, window_size=4, causal=True, use_rotary_pos_emb=False)
    q, k, _ = (x[:, :, 0].float() for x in draw(0, 12))
    read = readers(lambda v: attention(q, k, v.float()[None, :, None].expand(1, 12, 4))[0, :, 0], 12)
    assert read.sum(1).tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8]


def test_a_window_of_masked_keys_gives_zero() -> None:
    valid = Valid(torch.tensor([[True] * 2 + [False] * 5 + [True] * 3]))
    for backend, y in answers(4, 10, Window(1), valid).items():
        assert (y[0] == 0).all(-1).all(-1).tolist() == [False] * 3 + [True] * 3 + [False] * 4, backend


# torchaudio's Conformer, Hugging Face's Wav2Vec2Conformer


def test_padding_does_not_leak_through_an_encoder_whatever_it_holds() -> None:
    encoder = Encoder(8, 2, 2, 16).double().eval()
    x = torch.randn(1, 6, 8, dtype=torch.float64)
    padded = torch.cat([x, torch.full((1, 3, 8), torch.nan, dtype=torch.float64)], dim=1)
    y = encoder(Tokens(padded, keys=Lengths(torch.tensor([6])))).x
    torch.testing.assert_close(y[:, :6], encoder(Tokens(x)).x, atol=1e-12, rtol=0)
    assert y.isfinite().all()


@pytest.mark.filterwarnings("ignore")
def test_torchaudio_s_conformer_leaks_its_padding() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # importing it warns
        conformer = pytest.importorskip("torchaudio.models").Conformer
    torch.manual_seed(0)
    model = conformer(input_dim=8, num_heads=2, ffn_dim=16, num_layers=1, depthwise_conv_kernel_size=5).eval()
    x = torch.randn(1, 6, 8)
    padded = torch.cat([x, torch.randn(1, 3, 8)], dim=1).repeat(2, 1, 1)
    alone, among = model(x, torch.tensor([6]))[0], model(padded, torch.tensor([6, 9]))[0]
    assert (alone[0] - among[0, :6]).abs().max() > 1e-3


# wenet


def test_relative_scores_really_shift() -> None:
    n, h, d = 5, 2, 4
    q, k, v = draw(5, n)
    u, w = torch.randn(2, h, d, dtype=torch.float64)
    r = torch.randn(h, 2 * n - 1, d, dtype=torch.float64)
    scores = torch.zeros(1, h, n, n, dtype=torch.float64)
    for head in range(h):
        for i in range(n):
            for j in range(n):
                content = (q[0, i, head] + u[head]) @ k[0, j, head]
                position = (q[0, i, head] + w[head]) @ r[head, j - i + n - 1]  # by distance, not by column
                scores[0, head, i, j] = (content + position) / d**0.5
    wanted = (scores.softmax(-1) @ v.transpose(1, 2)).transpose(1, 2)
    served = 0
    for backend in BACKENDS:
        bias = TransformerXL(u, w, r, lowest=1 - n)
        try:
            y = attend(q, k, v, bias=bias, backend=backend)
        except ConfigError:
            continue
        torch.testing.assert_close(y, wanted)
        served += 1
    assert served >= 2


# Long Range Arena


def test_local_means_neighbours_and_not_strides() -> None:
    read = reads(Window(2), 12)
    assert read[6].nonzero()[:, 0].tolist() == [4, 5, 6, 7, 8]
    assert (read.nonzero()[:, 0] - read.nonzero()[:, 1]).abs().max() == 2


@pytest.mark.parametrize(("size", "length"), [(4, 12), (3, 12), (12, 12), (1, 5), (5, 5), (2, 6)])
def test_local_in_chunks_reads_the_own_chunk_only(size: int, length: int) -> None:
    chunk = torch.arange(length) // size
    assert torch.equal(reads(Chunk(size), length), chunk[:, None] == chunk)


@pytest.mark.parametrize(("size", "length"), [(4, 12), (3, 12), (3, 13), (12, 12), (1, 5), (5, 4), (2, 7)])
def test_long_range_arena_s_code_reads_strides_of_which_we_know_the_pattern(size: int, length: int) -> None:
    """Its LocalAttention pads, reshapes to (batch, block_size, num_blocks, …) and attends along block_size."""
    q, k, _ = (x[0, :, 0] for x in draw(0, length))
    extra = size - length % size

    def theirs(value: Tensor) -> Tensor:
        padded = (nn.functional.pad(x, (0, 0, 0, extra)) for x in (q, k, value[:, None]))
        a, b, c = (x.reshape(size, (length + extra) // size, -1).transpose(0, 1) for x in padded)
        return nn.functional.scaled_dot_product_attention(a, b, c).transpose(0, 1).reshape(-1)[:length]

    read = readers(theirs, length)
    assert torch.equal(reads(lra_local(size, length), length), read)
    assert size == 1 or length < 2 * size or not torch.equal(read, reads(Chunk(size), length))


def test_a_window_costs_its_pairs_and_not_the_square() -> None:
    assert Window(2).pairs(1000, 1000) == 5 * 1000 - 6


# torch


def test_true_means_may_read_everywhere() -> None:
    valid = torch.tensor([[True, False, True]])
    assert reads(Full(), 3, Valid(valid)).tolist() == [[True, False, True]] * 3
    assert Causal().mask(torch.arange(2)[None], torch.arange(2))[0, 0].tolist() == [[True, False], [True, True]]
    q, k, v = (x.transpose(1, 2) for x in draw(6, 3))
    theirs = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=valid[:, None, None])
    torch.testing.assert_close(attend(*draw(6, 3), keys=Valid(valid)), theirs.transpose(1, 2))


@pytest.mark.parametrize("training", [True, False])
def test_a_sample_that_is_all_padding_gives_zero_with_weights_and_without(training: bool) -> None:
    q, k, v = draw(7, 3)
    nothing = Valid(torch.zeros(1, 3, dtype=torch.bool))
    y, weights = attend(q, k, v, keys=nothing, return_weights=True)
    assert not y.any()
    assert not weights.any()
    for backend, answer in answers(7, 3, Full(), nothing).items():
        assert not answer.any(), backend
    layer = Attention(8, 2).train(training)
    tokens = Tokens(torch.randn(1, 3, 8), keys=nothing)
    torch.testing.assert_close(layer(tokens), layer.out.bias.expand(1, 3, 8))
    assert not layer.weights(tokens).any()


def test_torch_s_multihead_attention_gives_nan_with_weights_and_zero_without() -> None:
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    x, ignored = torch.randn(1, 3, 8), torch.ones(1, 3, dtype=torch.bool)  # here True means "ignore"
    y, without = (layer(x, x, x, key_padding_mask=ignored, need_weights=w)[0] for w in (True, False))
    assert y.isnan().all()
    assert not without.any()


# Hugging Face


@pytest.mark.parametrize("pattern", [Window(3, 0), Window(2), Window(0), Causal() & Window(2), Window(1, 2)])
@pytest.mark.parametrize("n", [1, 5, 18])
def test_a_window_ends_at_the_same_key_on_every_backend(pattern: Pattern, n: int) -> None:
    wanted = pattern.mask(torch.arange(n)[None], torch.arange(n))[0, 0]
    for backend, y in answers(8, n, pattern).items():
        assert (reads(pattern, n, backend=backend) == wanted).all(), backend
        torch.testing.assert_close(y, attend(*draw(8, n), pattern, backend="reference"))


# PyTorch Geometric


def test_linear_attention_of_a_graph_does_not_depend_on_its_batch_mates() -> None:
    q, k, v = draw(9, 7, b=2)
    alone = attend(q[:1, :4], k[:1, :4], v[:1, :4], norm=Kernel())
    k[0, 4:], v[0, 4:] = torch.nan, 1e9
    for backend in answers(9, 7, Full(), Lengths(torch.tensor([4, 7])), b=2, norm=Kernel()):
        y = attend(q, k, v, keys=Lengths(torch.tensor([4, 7])), norm=Kernel(), backend=backend)
        torch.testing.assert_close(y[:1, :4], alone, msg=backend)


def test_linear_attention_of_a_packed_set_does_not_depend_on_the_others() -> None:
    q, k, v = draw(10, 7)
    packed = attend(q, k, v, keys=Segments(torch.tensor([[0, 0, 0, 0, 1, 1, 1]])), norm=Kernel())
    torch.testing.assert_close(packed[:, :4], attend(q[:, :4], k[:, :4], v[:, :4], norm=Kernel()))
    torch.testing.assert_close(packed[:, 4:], attend(q[:, 4:], k[:, 4:], v[:, 4:], norm=Kernel()))


def test_pyg_s_performer_of_a_graph_depends_on_its_batch_mates() -> None:
    gps = pytest.importorskip("torch_geometric.nn").GPSConv
    torch.manual_seed(0)
    layer = gps(8, None, heads=2, attn_type="performer", norm=None).eval()
    x, edges, batch = torch.randn(12, 8), torch.zeros(2, 0, dtype=torch.long), torch.tensor([0] * 4 + [1] * 8)
    difference = layer(x, edges, batch)[:4] - layer(x[:4], edges, batch[:4])
    assert difference.abs().max() > 1e-4


def graph(nodes: int = 30, degree: int = 20) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    pairs = torch.rand(nodes, nodes, generator=generator).argsort(1)[:, :degree]
    return torch.stack([pairs.flatten(), torch.arange(nodes).repeat_interleave(degree)])


def test_attention_on_edges_keeps_no_vector_for_each_edge() -> None:
    index, heads, d = graph(), 2, 16
    q, k, v = (torch.randn(1, 30, heads, d, requires_grad=True) for _ in range(3))
    kept = kept_bytes(lambda: attend(q, k, v, Edges(index), backend="edges"))
    assert kept < index.shape[1] * heads * d * 4  # not even one such tensor


def test_pyg_keeps_three_vectors_for_each_edge() -> None:
    layer = pytest.importorskip("torch_geometric.nn").TransformerConv(32, 16, heads=2)
    index, x = graph(), torch.randn(30, 32, requires_grad=True)
    assert kept_bytes(lambda: layer(x, index)) > 2.5 * index.shape[1] * 2 * 16 * 4


# xformers


@pytest.mark.parametrize("t", [0, 1, 5, 9])
def test_causal_linear_attention_does_not_move_with_what_comes_later(t: int) -> None:
    before = answers(11, 9, Causal(), norm=Kernel())
    q, k, v = draw(11, 9)
    for x in (q, k, v):
        x[:, t:] = torch.randn_like(x[:, t:]) * 10
    for backend, y in before.items():
        moved = attend(q, k, v, Causal(), norm=Kernel(), backend=backend)
        torch.testing.assert_close(moved[:, :t], y[:, :t], atol=1e-12, rtol=0)
        assert t == 9 or ((moved[:, t:] - y[:, t:]).abs() > 1e-6).any(-1).all(), backend
