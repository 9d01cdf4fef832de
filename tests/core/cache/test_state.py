"""States: what they keep, and the law that step by step equals all at once."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from zoo.core import (
    ALiBiPosition,
    Attention,
    Blocks,
    Causal,
    Chunk,
    ConfigError,
    Decoder,
    DecoderState,
    Edges,
    Explicit,
    Full,
    Globals,
    Growing,
    InputError,
    Kernel,
    Lengths,
    Neighbourhood,
    Ring,
    Rotary,
    Segments,
    ShawPosition,
    Static,
    Sums,
    TablePosition,
    Tokens,
    TransformerXLPosition,
    Valid,
    Window,
    left_padded,
)
from zoo.core.cache.ring import state_for
from zoo.core.cache.state import KeyValues, Read, State, per_row
from zoo.core.patterns.pattern import Pattern
from zoo.core.patterns.sparse import Fixed, Strided
from zoo.core.positions.attention_position import AttentionPosition
from zoo.testing.strategies import random_cases

DIM, HEADS, SIZE = 8, 2, 4


def graph(seed: int, nodes: int = 40) -> Tensor:
    return (torch.rand(nodes, nodes, generator=torch.Generator().manual_seed(seed)) < 0.4).nonzero().T


PATTERNS: list[Pattern] = [
    Causal(),
    Window(3, 0),
    Window(0, 0),
    Window(2, 0, dilation=2),
    Chunk(3, 1) & Causal(),
    Chunk(2) & Causal(),
    Causal() & Globals((0,)),
    Window(2, 0) | (Causal() & Globals((0, 3))),
    Fixed(3),
    Strided(3),
    Explicit(torch.rand(40, 40, generator=torch.Generator().manual_seed(0)) < 0.6) & Causal(),
    Explicit(torch.rand(40, 40, generator=torch.Generator().manual_seed(1)) < 0.6) & Window(4, 0),
    Edges(graph(2)) & Causal(),
    Edges(graph(3).sort(0).values.unique(dim=1)),
    Edges(graph(4)) & Window(5, 0),
    Blocks(3, tuple((a // 2, a, 5) for a in range(14))) & Causal(),
    Neighbourhood(8, 5, 1) & Causal(),
    Neighbourhood(8, 5, 1, prefix=2) & Causal(),
]
POSITIONS: list[Callable[[], AttentionPosition | None]] = [
    lambda: None,
    lambda: Rotary(SIZE),
    lambda: ALiBiPosition(HEADS),
    lambda: TablePosition(HEADS, 4, 0),
    lambda: TransformerXLPosition(DIM, HEADS, SIZE),
    lambda: ShawPosition(SIZE, 2, 0),
]

NAMES = ["none", "rotary", "alibi", "table", "transformer-xl", "shaw"]
PAIRS = [f"{pattern}, {name}" for pattern, name in zip(map(repr, PATTERNS), NAMES * 3, strict=True)]


def decoder_with(
    pattern: Pattern, make: Callable[[], AttentionPosition | None] = lambda: None, depth: int = 2
) -> Decoder:
    torch.manual_seed(0)

    def attention(dim: int, num_heads: int) -> Attention:
        return Attention(dim, num_heads, kv_heads=1, position=make())

    decoder = Decoder(DIM, depth, HEADS, 12, attention=attention, pattern=pattern).double().eval()
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return decoder


def vectors(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, DIM, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def all_at_once(decoder: Decoder, x: Tensor) -> Tensor:
    """Decode as the beginning of a set whose other vectors come later: a graph may have edges for them."""
    n = x.shape[1]
    return decoder(Tokens(torch.nn.functional.pad(x, (0, 0, 0, 40 - n)))).x[:, :n]


def compare_with_the_whole(decoder: Decoder, row: Tensor, got: Tensor) -> None:
    """Compare the answers to a row's last vectors with those of the whole row, alone and without a state."""
    whole = all_at_once(decoder, row[None])[0]
    torch.testing.assert_close(got, whole[len(whole) - len(got) :], atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize(("pattern", "make"), list(zip(PATTERNS, POSITIONS * 3, strict=True)), ids=PAIRS)
@torch.no_grad()
def test_pieces_of_any_length_give_what_the_whole_gives(
    pattern: Pattern, make: Callable[[], AttentionPosition | None]
) -> None:
    decoder, x = decoder_with(pattern, make), vectors(0, 2, 13)
    state = decoder.state(2)
    y = torch.cat([decoder(Tokens(piece), state=state).x for piece in x.split([1, 4, 0, 1, 1, 3, 2, 1], dim=1)], dim=1)
    torch.testing.assert_close(y, all_at_once(decoder, x), atol=1e-9, rtol=1e-9)
    assert state.lengths.tolist() == state.next.tolist() == [13, 13]


_SPARE = st.integers(0, 4)
Story = tuple[Pattern, int, int, list[tuple[str, list[int]]]]


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """Draw a pattern, a position encoding, spare tokens, and what happens to three rows, one thing after the other."""
    numbers = st.lists(st.integers(0, 4), min_size=3, max_size=3)
    events = st.tuples(st.sampled_from(["append", "right", "left", "step", "reorder", "crop"]), numbers)
    which = draw(st.integers(0, len(POSITIONS) - 1))
    return draw(st.sampled_from(PATTERNS)), which, draw(_SPARE), draw(st.lists(events, min_size=1, max_size=9))


@given(story=stories(), seed=st.integers(0, 1000))
@random_cases(30)
@torch.no_grad()
def test_each_row_agrees_with_itself_alone_whatever_happened_to_the_state(story: Story, seed: int) -> None:
    """Rows of different lengths, padding on either side, pieces of any length, beams, and steps back."""
    pattern, which, spare, events = story
    decoder = decoder_with(pattern, POSITIONS[which], depth=1)
    state, rows = decoder.state(3, capacity=2, spare=spare), [vectors(0, 0) for _ in range(3)]
    furthest = [0] * 3
    for number, (event, counts) in enumerate(events):
        if event == "reorder":
            index = [count % 3 for count in counts]
            state.reorder(torch.tensor(index))
            rows, furthest = [rows[i] for i in index], [furthest[i] for i in index]
            continue
        if event == "crop":
            keep = [max(0, len(row) - count) for row, count in zip(rows, counts, strict=True)]
            try:
                state.crop(torch.tensor(keep))
            except InputError:  # which leaves the state as it was
                assert any(kept < most - spare for kept, most in zip(keep, furthest, strict=True))
            else:
                rows = [row[:n] for row, n in zip(rows, keep, strict=True)]
            continue
        n = 1 if event == "step" else max(counts)
        counts = counts if event in ("right", "left") else [n] * 3
        x = vectors(seed + number, 3, n)
        fresh = [x[i, n - c :] if event == "left" else x[i, :c] for i, c in enumerate(counts)]
        tokens = Tokens(x, keys=Lengths(torch.tensor(counts)) if event == "right" else None)
        if event == "left":
            valid = torch.arange(n) >= n - torch.tensor(counts)[:, None]
            first = torch.tensor([len(row) for row in rows]) - (n - torch.tensor(counts))
            tokens = Tokens(
                x.masked_fill(~valid[..., None], torch.nan), None, Valid(valid), torch.arange(n) + first[:, None]
            )
        y = decoder(tokens, state=state).x
        rows = [torch.cat([row, new]) for row, new in zip(rows, fresh, strict=True)]
        furthest = [max(most, len(row)) for most, row in zip(furthest, rows, strict=True)]
        for i, c in enumerate(counts):
            compare_with_the_whole(decoder, rows[i], y[i, n - c :] if event == "left" else y[i, :c])
    assert state.lengths.tolist() == state.next.tolist() == [len(row) for row in rows]


Lives = list[tuple[str, int]]
_EVENTS = ["append", "crop", "crop", "crop one", "take"]
_lives = st.lists(st.tuples(st.sampled_from(_EVENTS), st.integers(0, 6)), min_size=3, max_size=12)
_KEPT = st.sampled_from([Causal(), Window(0, 0), PATTERNS[7], *(Window(left, 0) for left in range(1, 5))])


@given(first=st.integers(0, 12), events=_lives, spare=_SPARE, pattern=_KEPT)
@random_cases(30)
def test_after_any_crops_a_row_reads_what_a_fresh_state_would_keep(
    first: int, events: Lives, spare: int, pattern: Pattern
) -> None:
    """Numbers stand for keys. What no query can read any more may be kept, and be wrong."""
    state = state_for(pattern, 2, capacity=2, spare=spare)
    rows: list[list[float]] = [[], []]
    furthest = [0, 0]
    for at, (event, n) in enumerate([("append", first), *events, ("append", 1)]):
        keep = [max(0, len(row) - n // 2) for row in rows]
        if event == "append":
            new = torch.arange(2.0 * n).view(2, n, 1, 1) + 100 * at
            read = state.append(new, new)
            rows = [[*row, *new[i, :, 0, 0].tolist()] for i, row in enumerate(rows)]
            furthest = [max(most, len(row)) for most, row in zip(furthest, rows, strict=True)]
            for i in range(2 * (n > 0)):
                assert readable(read, i, len(rows[i]) - n, pattern) == readable(
                    fresh(rows[i]), 0, len(rows[i]) - n, pattern
                )
        elif event == "take":
            state.reorder(torch.tensor([n % 2, 1]))
            rows, furthest = [rows[n % 2], rows[1]], [furthest[n % 2], furthest[1]]
        else:
            keep = [keep[0], len(rows[1])] if event == "crop one" else keep
            try:
                state.crop(torch.tensor(keep))
            except InputError:
                assert any(kept < most - spare for kept, most in zip(keep, furthest, strict=True))
            else:
                rows = [row[:k] for row, k in zip(rows, keep, strict=True)]
        assert state.lengths.tolist() == per_row(state.next, 2).tolist() == [len(row) for row in rows]


def fresh(row: list[float]) -> Read:
    """Give what a state reads that keeps everything."""
    new = torch.tensor(row).view(1, -1, 1, 1)
    return Growing(1).append(new, new)


def readable(read: Read, row: int, query: int, pattern: Pattern) -> list[tuple[int, float]]:
    """Give position and key of what a query may read."""
    count = read.k.shape[1]
    at = torch.arange(count) if read.positions is None else read.positions[row]
    there = torch.ones(len(read.k), count, dtype=torch.bool)
    if read.keys is not None:
        there = read.keys.valid(len(read.k), count, there.device)
    allowed = there[row] & pattern.allows(torch.tensor(query), at)
    return sorted(zip(at[allowed].tolist(), read.k[row, allowed, 0, 0].tolist(), strict=True))


@pytest.mark.parametrize("pattern", [Causal(), Window(3, 0)], ids=repr)
@torch.no_grad()
def test_left_padding_with_a_cache_averages_nothing_and_moves_nothing(pattern: Pattern) -> None:
    """x-transformers#187 in spirit: a padded row, decoded step by step, gives what it gives alone."""
    decoder, x = decoder_with(pattern, lambda: Rotary(SIZE)), vectors(1, 2, 9)
    state = decoder.state(2)
    padding = torch.arange(5) < torch.tensor([3, 0])[:, None]
    padded = left_padded(x[:, :5].masked_fill(padding[..., None], torch.nan), torch.tensor([2, 5]))
    y = [decoder(padded, state=state).x]
    y += [decoder(Tokens(x[:, t : t + 1]), state=state).x for t in range(5, 9)]
    compare_with_the_whole(decoder, x[0, 3:], torch.cat(y, dim=1)[0, 3:])
    compare_with_the_whole(decoder, x[1], torch.cat(y, dim=1)[1])


@pytest.mark.parametrize("pattern", [Causal(), Window(3, 0)], ids=repr)
@torch.no_grad()
def test_padding_in_front_that_is_counted_as_positions_agrees_with_the_padded_whole(pattern: Pattern) -> None:
    decoder, x = decoder_with(pattern, lambda: ShawPosition(SIZE, 2)), vectors(1, 2, 6)
    valid = torch.tensor([[False, False, True, True], [True] * 4])
    state = decoder.state(2)
    y = [decoder(Tokens(x[:, :4], keys=Valid(valid)), state=state).x]
    y += [decoder(Tokens(x[:, t : t + 1]), state=state).x for t in (4, 5)]
    assert state.next.tolist() == [6, 6]
    assert state.lengths.tolist() == [4, 6]
    whole = decoder(Tokens(x, keys=Valid(torch.cat([valid, torch.ones(2, 2, dtype=torch.bool)], dim=1)))).x
    torch.testing.assert_close(torch.cat(y, dim=1)[0, 2:], whole[0, 2:], atol=1e-9, rtol=0)
    torch.testing.assert_close(torch.cat(y, dim=1)[1], whole[1], atol=1e-9, rtol=0)


@pytest.mark.parametrize("pattern", [Causal(), Window(3, 0)], ids=repr)
@torch.no_grad()
def test_tokens_that_were_taken_back_leave_no_trace(pattern: Pattern) -> None:
    """x-transformers#219 in spirit: guessed tokens are cropped, each row its own number of them, and others follow."""
    decoder, x = decoder_with(pattern, lambda: Rotary(SIZE)), vectors(2, 2, 12)
    state = decoder.state(2, spare=4)
    decoder(Tokens(x[:, :8]), state=state)
    state.crop(torch.tensor([5, 7]))
    y = decoder(Tokens(x[:, 8:]), state=state).x
    compare_with_the_whole(decoder, torch.cat([x[0, :5], x[0, 8:]]), y[0])
    compare_with_the_whole(decoder, torch.cat([x[1, :7], x[1, 8:]]), y[1])


@pytest.mark.parametrize("make", POSITIONS[1:], ids=NAMES[1:])
@torch.no_grad()
def test_positions_go_on_where_the_cache_ends(make: Callable[[], AttentionPosition | None]) -> None:
    """x-transformers#311 in spirit: a step knows its position, given or not."""
    decoder, x = decoder_with(Causal(), make), vectors(3, 1, 6)
    whole = decoder(Tokens(x)).x
    counted, said = decoder.state(1), decoder.state(1)
    for t in range(6):
        step = Tokens(x[:, t : t + 1])
        torch.testing.assert_close(decoder(step, state=counted).x, whole[:, t : t + 1], atol=1e-9, rtol=0)
        placed = Tokens(step.x, position=torch.tensor([[t]]))
        torch.testing.assert_close(decoder(placed, state=said).x, whole[:, t : t + 1], atol=1e-9, rtol=0)


@pytest.mark.parametrize("pattern", [Causal(), Window(3, 0)], ids=repr)
@torch.no_grad()
def test_positions_may_begin_anywhere(pattern: Pattern) -> None:
    decoder, x = decoder_with(pattern, lambda: TablePosition(HEADS, 5)), vectors(3, 1, 6)
    state = decoder.state(1)
    first = decoder(Tokens(x[:, :4], position=torch.arange(100, 104)[None]), state=state).x
    y = torch.cat([first, decoder(Tokens(x[:, 4:5]), state=state).x], dim=1)
    state.crop(4)
    y = torch.cat([y, decoder(Tokens(x[:, 4:]), state=state).x[:, 1:]], dim=1)
    torch.testing.assert_close(y, decoder(Tokens(x)).x, atol=1e-9, rtol=0)
    assert state.next.tolist() == [106]
    for length, follows in ((3, 103), (0, 100)):
        again = decoder.state(1, spare=6)
        decoder(Tokens(x, position=torch.arange(100, 106)[None]), state=again)
        again.crop(length)
        assert again.next.tolist() == [follows]


@torch.no_grad()
def test_a_window_keeps_as_much_after_ten_thousand_tokens_as_after_its_length() -> None:
    decoder = Decoder(8, 1, 2, 8, pattern=Window(256, 0)).eval()
    state, x = decoder.state(1), torch.randn(1, 500, 8)
    stored = []
    for _ in range(20):
        decoder(Tokens(x), state=state)
        stored.append(state.stored)
    for _ in range(10):
        decoder(Tokens(x[:, :1]), state=state)
    assert state.lengths.tolist() == [10_010]
    assert {*stored, state.stored} == {257 * (2 * 8 + 2)}  # keys, values; position and whether something is there


@torch.no_grad()
def test_everything_is_kept_in_room_that_doubles() -> None:
    state = Growing(1, capacity=4)
    rooms = []
    for _ in range(20):
        state.append(torch.randn(1, 1, 2, 3), torch.randn(1, 1, 2, 5))
        rooms.append(state.tensors["k"].shape[1])
    assert rooms == [4] * 4 + [8] * 4 + [16] * 8 + [32] * 4


def test_a_ring_serves_patterns_that_look_back_a_bounded_way() -> None:
    def size(pattern: Pattern) -> tuple[int, int] | None:
        state = state_for(pattern, 1)
        return (state.size, state.pinned) if isinstance(state, Ring) else None

    assert size(Window(5, 0)) == (6, 0)
    assert size(Causal() & Window(5, 3)) == (6, 0)
    assert size(Chunk(4, 1) & Causal()) == (8, 0)
    assert size(Window(5, 0) | (Globals((2,)) & Causal())) == (6, 3)
    assert size(Causal()) is size(Strided(3)) is size(Full()) is None
    assert size(Window(5, 0) | (Globals((900,)) & Causal())) is None


def test_a_layer_with_a_window_of_its_own_gets_a_ring() -> None:
    patterns = iter([Full(), Window(4, 4)])
    decoder = Decoder(8, 2, 2, 8, attention=lambda dim, heads: Attention(dim, heads, pattern=next(patterns)))
    assert [type(layer.own) for layer in decoder.state(3).layers] == [Growing, Ring]


@pytest.mark.parametrize("make", [lambda: Growing(2), lambda: Ring(2, 3)], ids=["growing", "ring"])
@pytest.mark.usefixtures("float64")
def test_gradients_flow_through_what_is_kept_until_it_is_detached(make: Callable[[], State]) -> None:
    layer, x = Attention(8, 2), torch.randn(2, 4, 8)
    first, second = x[:, :2].clone().requires_grad_(), x[:, 2:3]
    state = make()
    layer(Tokens(first, pattern=Causal()), None, state)
    y = layer(Tokens(second, pattern=Causal()), None, state)
    layer(Tokens(second, pattern=Causal()), None, state)  # a later step leaves what earlier ones need
    whole = x[:, :3].clone().requires_grad_()
    wanted = layer(Tokens(whole, pattern=Causal()))[:, 2:]
    grads = torch.autograd.grad(y.square().sum(), first), torch.autograd.grad(wanted.square().sum(), whole)
    torch.testing.assert_close(grads[0][0], grads[1][0][:, :2])
    state.detach()
    y = layer(Tokens(second, pattern=Causal()), None, state)
    assert torch.autograd.grad(y.sum(), first, allow_unused=True)[0] is None


@torch.no_grad()
def test_a_beam_may_have_more_rows_than_the_prompt() -> None:
    decoder, x = decoder_with(Causal()), vectors(5, 2, 4)
    state = decoder.state(2)
    decoder(Tokens(x[:, :3]), state=state)
    state.reorder(torch.tensor([0, 0, 1, 1, 1]))
    y = decoder(Tokens(x[[0, 0, 1, 1, 1], 3:]), state=state).x
    torch.testing.assert_close(y, decoder(Tokens(x)).x[[0, 0, 1, 1, 1], 3:], atol=1e-9, rtol=0)


@torch.no_grad()
@pytest.mark.usefixtures("float64")
def test_an_encoders_vectors_are_projected_once_and_kept() -> None:
    layer, x, context = Attention(8, 2, position=Rotary(4)).eval(), torch.randn(2, 4, 8), torch.randn(2, 5, 8)
    source = Tokens(context, keys=Lengths(torch.tensor([5, 2])))
    state = Static(2)
    whole = layer(Tokens(x), source)
    first = layer(Tokens(x[:, :1]), source, state)
    kept = state.tensors["k"]
    rest = layer(Tokens(x[:, 1:], position=torch.tensor([[1, 2, 3]])), None, state)
    torch.testing.assert_close(torch.cat([first, rest], dim=1), whole)
    assert state.tensors["k"] is kept
    assert state.lengths.tolist() == [5, 2]
    state.crop(1)
    state.reorder(torch.tensor([1, 0]))
    torch.testing.assert_close(layer(Tokens(x[[1, 0], :1]), None, state), whole[[1, 0], :1])


def filled(state: DecoderState | State, n: int = 9) -> None:
    assert isinstance(state, KeyValues)
    state.append(torch.randn(2, n, 1, 2), torch.randn(2, n, 1, 2))


def test_a_ring_refuses_to_forget_more_than_it_can() -> None:
    state = Ring(2, 3, spare=1)
    filled(state)
    with pytest.raises(InputError, match=r"cropped from \[9, 9\] to \[6, 6\] tokens: a ring of 5 slots .* last 2"):
        state.crop(6)
    state.crop(7)
    assert state.lengths.tolist() == [7, 7]


def test_a_ring_that_was_cropped_remembers_what_it_overwrote() -> None:
    state = Ring(2, 8, spare=4)
    filled(state, 14)
    state.crop(11)
    with pytest.raises(InputError, match=r"from \[11, 11\] to \[8, 8\] tokens.* can forget the last 5 of \[14, 14\]"):
        state.crop(8)
    state.reorder(torch.tensor([1]))
    with pytest.raises(InputError, match=r"from \[11\] to \[8\] tokens.* can forget the last 5 of \[14\]"):
        state.crop(torch.tensor([8]))
    state.crop(9)
    assert state.lengths.tolist() == [9]


@torch.no_grad()
def test_a_decoder_crops_all_layers_or_none() -> None:
    patterns = iter([Window(4, 0), Window(8, 0)])
    decoder = Decoder(DIM, 2, HEADS, 12, attention=lambda dim, heads: Attention(dim, heads, pattern=next(patterns)))
    state = decoder.state(1)
    state.layers[0].own = Ring(1, 4, spare=5)
    decoder(Tokens(torch.randn(1, 12, DIM)), state=state)
    with pytest.raises(InputError, match="cropped from"):
        state.crop(8)
    assert [layer.own.lengths.tolist() for layer in state.layers] == [[12], [12]]


@torch.no_grad()
def test_a_query_that_reads_itself_alone_still_knows_where_the_next_one_stands() -> None:
    state = Ring(1, 0)
    x = torch.randn(1, 3, 1, 2)
    state.append(x, x, position=torch.tensor([[5, 7, 9]]))
    state.crop(2)
    assert state.next == torch.tensor([8])


def test_what_does_not_fit_is_refused_with_its_value() -> None:
    state = Growing(2)
    filled(state)
    with pytest.raises(InputError, match="a batch of 3 given to a state of 2 rows"):
        state.append(torch.randn(3, 1, 1, 2), torch.randn(3, 1, 1, 2))
    with pytest.raises(InputError, match=r"cropped to \[1, -1\]: it is negative"):
        state.crop(torch.tensor([1, -1]))
    with pytest.raises(InputError, match=r"lengths of shape \(3,\) for a state of 2 rows"):
        state.crop(torch.tensor([1, 1, 1]))
    with pytest.raises(InputError, match="batch=0: a state has at least one row"):
        Growing(0)


@torch.no_grad()
@pytest.mark.parametrize("device", ["meta", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_rows_are_taken_by_an_index_on_another_device(device: str) -> None:
    state = Growing(3, capacity=4)
    k = torch.randn(3, 2, 2, 4, device=device)
    state.append(k, k)
    state.reorder(torch.tensor([2, 0, 0]))
    assert {x.device.type for x in state.tensors.values()} == {device}
    assert state.read().k.shape == k.shape
    if device == "cuda":
        torch.testing.assert_close(state.read().k, k[[2, 0, 0]])
        on_cpu = Growing(3)
        on_cpu.append(k.cpu(), k.cpu())
        on_cpu.reorder(torch.tensor([2, 0, 0], device=device))
        torch.testing.assert_close(on_cpu.read().k, k[[2, 0, 0]].cpu())


@pytest.mark.parametrize("index", [[0, 2], [-1, 0], []])
@pytest.mark.parametrize("make", [lambda: Growing(2), lambda: Ring(2, 3), lambda: Static(2), lambda: Sums(Kernel(), 2)])
def test_rows_that_are_not_there_cannot_be_taken(make: Callable[[], State | Sums], index: list[int]) -> None:
    with pytest.raises(InputError, match=r"rows \[.*\] are taken of a state of 2: at least one, each in 0 … 1"):
        make().reorder(torch.tensor(index, dtype=torch.long))


def test_a_static_state_is_filled_once_and_asked_for_afterwards() -> None:
    layer, state = Attention(8, 2), Static(1)
    with pytest.raises(InputError, match="a static state is empty: give the context with the first tokens"):
        layer(Tokens(torch.randn(1, 2, 8)), None, state)
    filled_once = torch.randn(1, 3, 1, 2)
    state.append(filled_once, filled_once)
    with pytest.raises(InputError, match="a static state of 3 vectors is given 3 more"):
        state.append(filled_once, filled_once)


def test_packed_sets_are_refused() -> None:
    layer = Attention(8, 2)
    with pytest.raises(InputError, match="packed sets are decoded without a state"):
        layer(Tokens(torch.randn(1, 2, 8), keys=Segments(torch.tensor([[0, 1]]))), None, layer.state(1))


@pytest.mark.parametrize("pattern", [Full(), Window(3, 1), Chunk(4), Edges(torch.tensor([[0, 2], [1, 1]]))], ids=repr)
def test_a_decoder_that_reads_ahead_makes_no_state(pattern: Pattern) -> None:
    with pytest.raises(ConfigError, match="reads ahead, so steps cannot agree with the whole: join it with Causal"):
        Decoder(8, 1, 2, 8, pattern=pattern).state(1)
