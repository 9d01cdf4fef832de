"""Efficient attention agrees with other libraries where definitions agree; a test says where they do not.

lucidrains' packages are no dependency: `uv pip install --no-deps performer-pytorch linformer nystrom-attention
sinkhorn-transformer reformer-pytorch product-key-memory axial-positional-embedding` runs what is skipped otherwise.
Faults of theirs that a test has to step around are shown here; the others in `test_peer_faults`.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from zoo.core import Blocks, Causal, Lengths, Tokens, attend, big_bird
from zoo.core.layers.attention import Attention
from zoo.core.mechanisms.efficient.doubly_stochastic import sinkhorn as balanced
from zoo.core.mechanisms.efficient.linformer import linformer
from zoo.core.mechanisms.efficient.nystrom import nystrom
from zoo.core.mechanisms.efficient.performer import performer
from zoo.core.mechanisms.efficient.reformer import Reformer, reformer
from zoo.core.mechanisms.efficient.sinkhorn import sinkhorn

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # distutils, torch.cuda.amp
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.usefixtures("float64", "on_device"),  # peers make identities and masks of the default type
]
DIM, HEADS, LENGTH = 8, 2, 16


@pytest.fixture(autouse=True)
def _no_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


@pytest.fixture
def x(on_device: None) -> Tensor:
    drawn = torch.randn(2, LENGTH, DIM, generator=torch.Generator().manual_seed(0), dtype=torch.float64, device="cpu")
    return drawn.to(torch.get_default_device())


def close(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)


def load(layer: Any, *parts: nn.Linear, out: nn.Linear | None = None) -> Any:
    """Give a layer the projections of a peer; no projection out where that has none."""
    weights = {"qkv.weight": torch.cat([part.weight for part in parts])}
    biases: list[Tensor] = [part.bias for part in parts if part.bias is not None]
    weights["qkv.bias"] = torch.cat(biases) if biases else torch.zeros(len(weights["qkv.weight"]))
    weights["out.weight"] = torch.eye(DIM) if out is None else out.weight
    weights["out.bias"] = torch.zeros(DIM) if out is None or out.bias is None else out.bias
    layer.load_state_dict({**layer.state_dict(), **weights})
    return layer.eval()


@pytest.mark.parametrize("causal", [False, True])
def test_performer_pytorch_without_its_epsilon(causal: bool) -> None:
    """It adds 1e-4 to each feature, by which a later key moves earlier answers."""
    peer = pytest.importorskip("performer_pytorch.performer_pytorch")
    layer = performer("12")(DIM, HEADS)
    q, k, v = torch.randn(3, 1, HEADS, LENGTH, 4)
    valid, greater = torch.ones(1, LENGTH, dtype=torch.bool), k.clone()
    greater[:, :, -1] *= 12

    def theirs(keys: Tensor, eps: float) -> Tensor:
        of_q, of_k = (
            peer.softmax_kernel(x, projection_matrix=layer.directions, is_query=x is q, eps=eps) for x in (q, keys)
        )
        if causal:
            return peer.causal_linear_attention_noncuda(of_q, of_k, v, eps=0.0)
        return peer.linear_attention(of_q, of_k, v)

    for keys in (k, greater):
        close(layer.mix((q, keys, v), valid, causal), theirs(keys, 0.0))
    if causal:
        leak = (theirs(greater, 1e-4) - theirs(k, 1e-4))[:, :, :-1]
        assert leak.square().mean().sqrt() > 1e-2 * theirs(k, 1e-4).square().mean().sqrt()


@pytest.mark.parametrize("n", [LENGTH, 10])
def test_linformer(x: Tensor, n: int) -> None:
    """It gives a shorter row the first rows of its matrices, as here, but has no mask for padding."""
    peer = pytest.importorskip("linformer").LinformerSelfAttention(DIM, LENGTH, k=5, heads=HEADS)
    layer = load(linformer("5", str(LENGTH))(DIM, HEADS), peer.to_q, peer.to_k, peer.to_v, out=peer.to_out)
    layer.of_keys.copy_(peer.proj_k.T)
    layer.of_values.copy_(peer.proj_v.T)
    close(layer(Tokens(x[:, :n])), peer(x[:, :n]))
    padded = x.clone()
    padded[:, n:] = 7
    known = layer(Tokens(padded, keys=Lengths(torch.tensor([n, n]))))[:, :n]
    close(known, peer(x[:, :n]))
    assert n == LENGTH or (peer(padded)[:, :n] - known).abs().max() > 1e-2


def test_nystrom_attention_of_one_row_and_one_head(x: Tensor) -> None:
    """Its iteration starts from the greatest norm of the batch, so more rows or heads give other answers."""
    peer = pytest.importorskip("nystrom_attention").NystromAttention(DIM, DIM, 1, num_landmarks=4).eval()
    q, k, v = (nn.Linear(DIM, DIM, bias=False) for _ in range(3))
    for part, weight in zip((q, k, v), peer.to_qkv.weight.chunk(3), strict=True):
        part.weight.copy_(weight)
    layer = load(nystrom("4")(DIM, 1), q, k, v, out=peer.to_out[0])
    layer.conv.weight.copy_(peer.res_conv.weight)
    ours = layer(Tokens(torch.cat([x[:1], x[1:] * 8])))
    close(ours[:1], peer(x[:1]))
    close(ours[1:], peer(x[1:] * 8))
    assert (peer(torch.cat([x[:1], x[1:] * 8]))[:1] - ours[:1]).abs().max() > 1e-3


@pytest.mark.slow
def test_hugging_face_s_nystromformer_that_starts_from_each_matrix_alone(x: Tensor) -> None:
    """Its default start is of the whole batch; the option for the other reads a misspelt name, and fails."""
    found = pytest.importorskip("transformers.models.nystromformer.modeling_nystromformer")
    config = pytest.importorskip("transformers").NystromformerConfig(
        hidden_size=DIM,
        num_attention_heads=HEADS,
        num_landmarks=4,
        segment_means_seq_len=LENGTH,
        conv_kernel_size=33,
        attention_probs_dropout_prob=0.0,
    )
    peer = found.NystromformerSelfAttention(config).eval()
    layer = load(nystrom("4")(DIM, HEADS), peer.query, peer.key, peer.value)
    layer.conv.weight.copy_(peer.conv.weight)
    sharp = torch.cat([x[:1], x[1:] * 8])
    assert (peer(sharp)[0][:1] - peer(x[:1])[0]).abs().max() > 1e-4
    peer.init_option = "exact"
    close(layer(Tokens(sharp)), peer(sharp)[0])
    config.inv_coeff_init_option = True
    with pytest.raises(TypeError):
        found.NystromformerSelfAttention(config)


def test_sinkhorn_transformer_whose_values_are_its_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sorted block of it holds the keys in place of the values, so it is right only where both are equal."""
    module = pytest.importorskip("sinkhorn_transformer.sinkhorn_transformer")
    peer = module.SinkhornAttention(4, DIM, 4, HEADS, LENGTH)
    layer: Any = sinkhorn("4", str(LENGTH))(DIM, HEADS).eval()
    layer.iterations = 17  # rows are normed last, so a sorted place counts as one
    q, k, content, v = torch.randn(4, 2, HEADS, LENGTH, 4)
    valid = torch.ones(2, LENGTH, dtype=torch.bool)
    sort = layer.sorting(content.unflatten(2, (-1, 4)), valid[:, ::4])
    monkeypatch.setattr(peer.sort_net, "forward", lambda *_, **__: sort.flatten(0, 1))
    close(layer.mix((q, k, content, k), valid, False), peer(q, k, k))
    assert (layer.mix((q, k, content, v), valid, False) - peer(q, k, v)).abs().max() > 0.1
    scores = torch.randn(2, 4, 4)
    close(balanced(scores, torch.ones(2, 4, 4, dtype=torch.bool), 16), module.sinkhorn_sorting_operator(scores, 8))


@pytest.mark.parametrize("rounds", [1, 3])
def test_reformer_pytorch_where_a_causal_row_has_two_chunks(rounds: int) -> None:
    """So each place reads all earlier ones of its bucket in both layouts. Its scores are divided by sqrt(d), too."""
    peer = pytest.importorskip("reformer_pytorch").LSHAttention(
        bucket_size=LENGTH // 2,
        n_hashes=rounds,
        causal=True,
        allow_duplicate_attention=False,
        attend_across_buckets=False,
    )
    layer: Any = Reformer(4, 1, buckets=2, rounds=rounds, chunk=LENGTH).eval()
    q, v = torch.randn(2, 2, LENGTH, 4)
    torch.manual_seed(5)
    layer.rotations.copy_(torch.randn(1, 4, rounds, 1).permute(2, 0, 1, 3))
    torch.manual_seed(5)
    theirs = peer(q * 2, v)[0]
    ours = layer.mix((q[:, None], v[:, None]), torch.ones(2, LENGTH, dtype=torch.bool), True)[:, 0]
    close(ours, theirs)


def hugging_face_reformer(chunk: int, rounds: int, decoder: bool) -> Any:
    found = pytest.importorskip("transformers.models.reformer.modeling_reformer")
    config = pytest.importorskip("transformers").ReformerConfig(
        hidden_size=DIM,
        num_attention_heads=HEADS,
        attention_head_size=DIM // HEADS,
        num_buckets=4,
        num_hashes=rounds,
        lsh_attn_chunk_length=chunk,
        lsh_num_chunks_before=1,
        lsh_num_chunks_after=0,
        lsh_attention_probs_dropout_prob=0.0,
        is_decoder=decoder,
    )
    return found.LSHSelfAttention(config, 0).eval()


@pytest.mark.slow
@pytest.mark.parametrize("decoder", [False, True])
def test_hugging_face_s_reformer_of_a_short_row(x: Tensor, decoder: bool) -> None:
    peer, tokens = hugging_face_reformer(LENGTH, 1, decoder), Tokens(x, Causal() if decoder else None)
    layer = load(reformer("1", "1", str(LENGTH))(DIM, HEADS), peer.query_key, peer.value)
    close(layer(tokens), peer(x).hidden_states)


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("chunk", [4, 8])
def test_hugging_face_s_reformer_where_all_fall_into_one_bucket(x: Tensor, chunk: int, rounds: int) -> None:
    """It does not mask other buckets of a chunk, which the paper does, so more buckets read more there."""
    peer = hugging_face_reformer(chunk, rounds, True)
    layer = load(reformer("4", str(rounds), str(chunk))(DIM, HEADS), peer.query_key, peer.value)
    near = Tokens(x[:, :1] * 2 + x * 0.02, Causal())
    close(layer(near), peer(near.x).hidden_states)
    assert (layer(Tokens(x, Causal())) - peer(x).hidden_states).abs().max() > 1e-3


def hugging_face_big_bird(randoms: int) -> Any:
    found = pytest.importorskip("transformers.models.big_bird.modeling_big_bird")
    config = pytest.importorskip("transformers").BigBirdConfig(
        hidden_size=DIM,
        num_attention_heads=1,
        block_size=2,
        num_random_blocks=randoms,
        max_position_embeddings=64,
        use_bias=True,
    )
    return found.BigBirdBlockSparseAttention(config, seed=3)


def big_bird_of(peer: Any, x: Tensor) -> Tensor:
    n, ones = x.shape[1], torch.ones(2, 1, 1, x.shape[1])
    blocked = torch.ones(2, n // 2, 2)
    band = torch.ones(2, 1, n // 2 - 4, 2, 6)
    return peer(x, band, ones.mT, ones, blocked, blocked)[0]


@pytest.mark.slow
def test_hugging_face_s_big_bird_in_training_and_its_missing_random_blocks_in_evaluation(
    x: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In evaluation each random block of it is block 0, which counts again; here a pattern is the same in both."""
    x, drawn = torch.cat([x, x.flip(0)], 1), list[Tensor]()
    peer = hugging_face_big_bird(2)
    gather = type(peer).torch_gather_b2

    def noted(params: Tensor, at: Tensor) -> Tensor:
        drawn.append(at[0, 0])
        return gather(params, at)

    monkeypatch.setattr(peer, "torch_gather_b2", noted)
    trained = big_bird_of(peer.train(), x)
    local = big_bird(x.shape[1], 2, window=1, randoms=0).reads
    reads = [local[0], *(tuple({*own, *at}) for own, at in zip(local[1:-1], drawn[0].tolist(), strict=True)), local[-1]]
    assert [len(row) for row in reads] == [len(row) for row in big_bird(x.shape[1], 2, window=1, randoms=2).reads]
    layer = load(Attention(DIM, 1, pattern=Blocks(2, tuple(reads))), peer.query, peer.key, peer.value)
    close(layer(Tokens(x)), trained)
    evaluated = big_bird_of(peer.eval(), x)
    assert not drawn[-1].any()
    q, k, v = (part.unflatten(-1, (1, DIM)) for part in layer.qkv(x).chunk(3, -1))
    again = torch.zeros(1, 1, x.shape[1], x.shape[1])
    again[..., 2:-2, :2] = torch.tensor(3.0).log()
    close(attend(q, k, v, Blocks(2, local), bias=again).flatten(2), evaluated)
