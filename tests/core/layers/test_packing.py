"""Reading without padding gives what reading with it gives."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from zoo.core import Causal, Chunk, Encoder, Full, Lengths, Segments, Tokens, Valid, Window, attend
from zoo.core.engine.tracing import rows_apart, watch
from zoo.core.layers.attention import Attention
from zoo.core.layers.packing import has_holes, pack, packable
from zoo.core.layers.position_factory import with_position
from zoo.core.layers.transformer import Stack
from zoo.core.models.inspection import attention_maps
from zoo.core.patterns.padding import Keys
from zoo.core.patterns.pattern import Pattern
from zoo.core.scoring.relative_bias import ALiBi

FULL = Full()
LENGTHS = torch.tensor([6, 2, 0, 3])
VALID = torch.arange(6) < LENGTHS[:, None]


def encoder(position: str = "none", pattern: Pattern = FULL) -> Encoder:
    torch.manual_seed(0)

    def attention(dim: int, num_heads: int) -> Attention:
        return Attention(dim, num_heads, pattern=pattern)

    return Encoder(8, 2, 2, 16, attention=with_position(attention, position, 6)).double()


def tokens(keys: Keys | None, position: Tensor | None = None) -> Tokens:
    x = torch.randn(4, 6, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    return Tokens(x, None, keys, position)


@pytest.mark.parametrize("position", ["none", "rotary", "alibi", "relative", "transformer-xl", "shaw"])
@pytest.mark.parametrize("pattern", [Full(), Causal(), Window(2, 1)])
@pytest.mark.parametrize("left", [False, True])
def test_vectors_and_gradients_are_those_of_rows_with_padding(position: str, pattern: Pattern, left: bool) -> None:
    model = encoder(position, pattern)
    valid = VALID.flip(1) if left else VALID
    given = tokens(Valid(valid), valid.long().cumsum(1) - 1 if left else None)
    answers = []
    for packed in (True, False):
        x = given.x.clone().requires_grad_()
        if packed:
            y = model(given.with_x(x)).x[valid]
        else:
            with rows_apart():
                y = model(given.with_x(x)).x[valid]
        answers.append([y, *torch.autograd.grad(y.square().sum(), [x, *model.parameters()])])
    for one, other in zip(*answers, strict=True):
        torch.testing.assert_close(one, other)


def test_padding_is_not_computed() -> None:
    rows: list[int] = []
    model = encoder()
    model.blocks[0].mlp.register_forward_hook(lambda _, args, y: rows.append(y.shape[0] * y.shape[1]))
    y = model(tokens(Lengths(LENGTHS))).x
    assert rows == [int(LENGTHS.sum())]
    assert not y[~VALID].any()


def test_sets_that_read_by_place_and_rows_that_are_full_are_not_packed() -> None:
    assert pack(tokens(None)) is None
    assert pack(tokens(Lengths(torch.tensor([6, 6, 6, 5])))) is None
    assert pack(tokens(Lengths(torch.zeros(4, dtype=torch.long)))) is None
    assert packable(encoder().blocks)
    assert not packable(encoder(pattern=Chunk(2)).blocks)
    dropping = Encoder(8, 2, 2, 16, drop_path=0.5)
    assert not packable(dropping.train().blocks)
    assert packable(dropping.eval().blocks)


def test_what_is_packed_goes_back_to_its_place() -> None:
    given = tokens(Lengths(LENGTHS))
    packed = pack(given)
    assert packed is not None
    assert packed.tokens.x.shape == (1, 11, 8)
    torch.testing.assert_close(packed.back(packed.tokens).x, given.without_padding().x)


def test_the_states_end_with_the_answer() -> None:
    model, given = encoder(), tokens(Lengths(LENGTHS))
    *_, last = model.states(given)
    torch.testing.assert_close(last.x, model(given).x)


def test_who_looks_at_weights_sees_rows() -> None:
    maps = attention_maps(encoder(), tokens(Lengths(LENGTHS)))
    assert len(maps) == 2
    for weights in maps:  # (rows, heads, queries, keys), as if nothing were packed
        torch.testing.assert_close(weights.sum(3), (LENGTHS > 0)[:, None, None].expand(4, 2, 6).to(weights.dtype))
        assert not weights.transpose(1, 3)[~VALID].any()


@pytest.mark.parametrize("pattern", [Full(), Causal(), Window(1, 1)])
def test_packed_sets_are_computed_apart(pattern: Pattern) -> None:
    ids = torch.tensor([[0] * 40 + [1] * 30 + [-1] * 3 + [2] * 50, [5] * 60 + [7] * 63])
    q, k, v = (torch.randn(2, 123, 2, 4, dtype=torch.float64, requires_grad=True) for _ in range(3))
    seen: list[int] = []
    with watch(lambda plan, problem: seen.append(problem.batch)):
        y = attend(q, k, v, pattern, Segments(ids))
    assert seen == [5]
    wanted = attend(q, k, v, pattern, Segments(ids), backend="reference")
    torch.testing.assert_close(y, wanted)
    for one, other in zip(
        torch.autograd.grad(y.square().sum(), (q, k, v)),
        torch.autograd.grad(wanted.square().sum(), (q, k, v)),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


def test_vectors_that_stand_apart_keep_their_distances() -> None:
    model, places = encoder("rotary"), torch.tensor([0, 2, 3, 7, 8, 12]).expand(4, 6)
    given = tokens(Lengths(LENGTHS), places)
    y = model(given).x[VALID]
    with rows_apart():
        torch.testing.assert_close(y, model(given).x[VALID])
    assert not torch.allclose(y, model(tokens(Lengths(LENGTHS))).x[VALID])


def test_sets_with_a_pattern_that_goes_by_place_are_not_packed() -> None:
    given = tokens(Lengths(LENGTHS))
    assert pack(given) is not None
    assert pack(replace(given, pattern=Window(1))) is not None
    assert pack(replace(given, pattern=Chunk(2))) is None


def test_blocks_whose_mlp_is_another_are_not_packed() -> None:
    class Mixing(nn.Module):
        """Add the mean over the places, which packing would take over all sets."""

        def forward(self, x: Tensor) -> Tensor:
            return x + x.mean(1, keepdim=True)

    model = Encoder(8, 2, 2, 16, mlp=lambda *_: Mixing()).double()
    assert not packable(model.blocks)
    given = tokens(Lengths(LENGTHS))
    y = model(given).x[VALID]
    with rows_apart():
        torch.testing.assert_close(y, model(given).x[VALID])


class Telling(nn.Module):
    """A block of another kind that says whether it keeps sets apart, and counts the vectors that it is given."""

    def __init__(self, answer: bool) -> None:
        super().__init__()
        self.answer, self.seen = answer, 0

    def packs(self) -> bool:
        return self.answer

    def forward(self, given: Tokens) -> Tokens:
        self.seen = given.x.shape[0] * given.x.shape[1]
        return given.with_x(given.x + 1)


@pytest.mark.parametrize(("answer", "seen"), [(True, 11), (False, 24)])
def test_any_stack_packs_for_blocks_that_say_that_they_keep_sets_apart(answer: bool, seen: int) -> None:
    block, given = Telling(answer), tokens(Lengths(LENGTHS))
    y = Stack([block])(given).x
    assert block.seen == seen
    torch.testing.assert_close(y[VALID], given.x[VALID] + 1)
    (last,) = Stack([block]).states(given)
    assert last.x.equal(y)


@pytest.mark.parametrize("pattern", [Full(), Window(1, 1)])
def test_rows_with_holes_are_not_packed_as_their_vectors_do_not_stand_side_by_side(pattern: Pattern) -> None:
    holes = torch.tensor([[1, 0, 1, 0, 0, 0], [0, 1, 1, 0, 0, 0], [0] * 6, [1, 0, 0, 0, 0, 1]]).bool()
    assert has_holes(holes)
    assert not has_holes(holes[1:3])
    assert pack(tokens(Valid(holes[1:3].repeat(2, 1)))) is not None
    given, model = tokens(Valid(holes)), encoder("relative", pattern)
    assert pack(given) is None
    y = model(given).x[holes]
    with rows_apart():
        torch.testing.assert_close(y, model(given).x[holes])


@pytest.mark.parametrize("pattern", [Full(), Causal()])
@pytest.mark.parametrize("missing", [0, 2])
def test_sets_of_very_unequal_length_are_computed_one_by_one(pattern: Pattern, missing: int) -> None:
    ids = torch.tensor([[4] * 3 + [-1] * missing + [1] * 200 + [2] * 40])
    problems: list[tuple[int, int]] = []
    q, k, v = (torch.randn(1, ids.shape[1], 16, 8, dtype=torch.float64, requires_grad=True) for _ in range(3))
    bias = ALiBi(torch.rand(16, dtype=torch.float64))
    with watch(lambda plan, problem: problems.append((problem.batch, problem.queries))):
        y = attend(q, k, v, pattern, Segments(ids), bias)
    assert problems == [(1, 200), (1, 40), (1, 3)]  # what a bias makes for the longest serves the others
    wanted = attend(q, k, v, pattern, Segments(ids), bias, backend="reference")
    torch.testing.assert_close(y, wanted)
    for one, other in zip(*(torch.autograd.grad(x.square().sum(), (q, k, v)) for x in (y, wanted)), strict=True):
        torch.testing.assert_close(one, other)


def test_a_set_of_the_next_row_is_another_though_its_number_is_the_same() -> None:
    ids = torch.tensor([[0] * 60 + [1] * 63, [1] * 60 + [2] * 63])
    assert Segments(ids).unpacked.lengths.tolist() == [60, 63, 60, 63]
    q, k, v = (torch.randn(2, 123, 2, 4, dtype=torch.float64) for _ in range(3))
    seen: list[int] = []
    with watch(lambda plan, problem: seen.append(problem.batch)):
        y = attend(q, k, v, keys=Segments(ids))
    assert seen == [4]
    torch.testing.assert_close(y, attend(q, k, v, keys=Segments(ids), backend="reference"))


def test_sets_are_computed_apart_only_where_each_stands_in_one_piece_and_reads_itself() -> None:
    ids = torch.tensor([[0] * 50 + [1] * 40 + [-1] * 33])
    others = torch.tensor([[1] * 50 + [0] * 40 + [-1] * 33])
    pieces = torch.tensor([[0] * 50 + [1] * 40 + [0] * 33])
    assert Segments(ids).contiguous
    assert Segments(ids, ids.clone()).contiguous
    assert not Segments(ids, others).contiguous
    assert not Segments(pieces).contiguous
    q, k, v = (torch.randn(1, 123, 2, 4, dtype=torch.float64) for _ in range(3))
    for sets in (Segments(ids, others), Segments(pieces)):
        torch.testing.assert_close(attend(q, k, v, keys=sets), attend(q, k, v, keys=sets, backend="reference"))


def test_rows_without_any_set_give_zero() -> None:
    nothing = Segments(torch.full((2, 123), -1))
    assert nothing.contiguous
    assert (len(nothing.unpacked.lengths), nothing.unpacked.longest) == (0, 0)
    q, k, v = (torch.randn(2, 123, 2, 4) for _ in range(3))
    assert not attend(q, k, v, keys=nothing).any()
