"""Writing token by token: what a row gets does not depend on the state, on other rows or on padding."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from zoo.core import Causal, Chunk, Symbols, Window
from zoo.core.generation.loop import Generated, StepOutput, collect, length_penalty
from zoo.core.generation.stepping import Cached, Recomputed
from zoo.core.patterns.pattern import Pattern

Maker = Callable[..., Any]
Told = Callable[..., list[float]]
Plain = Callable[..., list[int]]

ROWS = [[3, 4, 5, 6, 3], [6], [5, 5, 3], [4, 6, 5, 3]]
POSITIONS = ["sinusoidal", "learned", "none", "rotary", "alibi", "relative", "transformer-xl", "shaw"]


def padded(rows: list[list[int]], side: str) -> tuple[Tensor, Tensor]:
    """Give rows with ids of other tokens in the padding, and which are there: lengths or a mask."""
    n = max(map(len, rows))
    if side == "right":
        return torch.tensor([row + [6] * (n - len(row)) for row in rows]), torch.tensor([len(row) for row in rows])
    valid = torch.tensor([[False] * (n - len(row)) + [True] * len(row) for row in rows])
    return torch.tensor([[6] * (n - len(row)) + row for row in rows]), valid


def answers(generated: Generated) -> list[list[int]]:
    """Give the best answers with their end."""
    return [row[: row.index(2) + 1] if 2 in row else row for row in generated.ids[:, 0].tolist()]


def test_what_was_read_while_writing_is_the_begin_and_the_best_answer() -> None:
    ids = torch.tensor([[[3, 4, 2], [5, 2, 0]], [[6, 2, 0], [4, 4, 4]]])
    written = Generated(ids, torch.tensor([[2, 1], [1, 3]]), torch.zeros(2, 2))
    assert written.read(Symbols(pad=7, bos=1, eos=2)).tolist() == [[1, 3, 4], [1, 6, 7]]


@pytest.mark.parametrize(
    ("position", "pattern", "side"),
    [
        *((position, Causal(), "left") for position in POSITIONS),
        *((position, Window(3, 0), "right") for position in POSITIONS),
        ("rotary", Chunk(3, 1) & Causal(), "left"),
        ("rotary", Causal(), "right"),
    ],
    ids=str,
)
def test_each_row_is_what_a_plain_loop_without_a_state_writes_alone(
    writer: Maker, told: Told, plain: Plain, position: str, pattern: Pattern, side: str
) -> None:
    model = writer(position=position, pattern=pattern, seed=len(position))
    got = model.generate(*padded(ROWS, side), max_len=7, length_penalty=0.0)
    wanted = [plain(model, row, 7) for row in ROWS]
    assert answers(got) == wanted
    scores = [sum(told(model, row, answer)) for row, answer in zip(ROWS, wanted, strict=True)]
    torch.testing.assert_close(got.scores[:, 0], torch.tensor(scores, dtype=torch.float64))


@pytest.mark.parametrize("position", ["sinusoidal", "learned", "rotary", "transformer-xl"])
@pytest.mark.parametrize("beam", [1, 3])
def test_answers_to_sources_are_what_each_source_gets_alone(
    writer: Maker, told: Told, plain: Plain, position: str, beam: int
) -> None:
    model = writer(encoder=True, position=position, seed=3)
    source, lengths = padded(ROWS, "right")
    got = model.generate(source, lengths, max_len=7, beam=beam)
    for at, row in enumerate(ROWS):
        alone = (torch.tensor([row]), None)
        one = model.generate(*alone, max_len=7, beam=beam)
        assert one.best()[0] == got.best()[at]
        assert float(one.scores[0, 0]) == pytest.approx(float(got.scores[at, 0]))
        answer = answers(got)[at]
        score = sum(told(model, [1], answer, *alone)) / length_penalty(len(answer), 0.6)
        assert float(got.scores[at, 0]) == pytest.approx(score, rel=1e-12)
        if beam == 1:
            assert answer == plain(model, [1], 7, *alone)


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("encoder", [False, True])
def test_a_decoder_that_keeps_no_state_reads_again(writer: Maker, plain: Plain, encoder: bool, beam: int) -> None:
    model = writer(mean=True, encoder=encoder, seed=39)
    source, valid = padded(ROWS, "right")
    got = model.generate(source, valid, max_len=6, beam=beam)
    assert len(set(got.lengths[:, 0].tolist())) > 1
    for at, row in enumerate(ROWS):
        one = torch.tensor([row])
        assert model.generate(one, None, max_len=6, beam=beam).best()[0] == got.best()[at]
        if beam == 1:
            wanted = plain(model, [1], 6, one, None) if encoder else plain(model, row, 6)
            assert answers(got)[at] == wanted


def test_a_state_is_used_where_the_decoder_keeps_one(writer: Maker) -> None:
    ids = torch.tensor([[3]])
    assert isinstance(writer()._begin((ids,), None, 3)[0], Cached)
    assert isinstance(writer(mean=True)._begin((ids,), None, 3)[0], Recomputed)


@pytest.mark.parametrize("seed", range(3))
def test_steps_are_what_comes_out_as_a_whole(writer: Maker, seed: int) -> None:
    model = writer(seed=seed)
    given = padded(ROWS, "left")
    for wish in ({}, {"temperature": 1.3, "top_k": 4, "top_p": 0.9, "seed": 1}):
        steps = list(model.generate_steps(*given, max_len=9, **wish))
        assert torch.stack(steps, dim=1).tolist() == model.generate(*given, max_len=9, **wish).ids[:, 0].tolist()


def test_a_step_is_given_as_soon_as_it_is_chosen(writer: Maker) -> None:
    model = writer()
    read: list[int] = []
    model.decoder.register_forward_hook(lambda *_: read.append(1))
    steps = model.generate_steps(torch.tensor([[3, 4]]), max_len=5)
    assert not read
    next(steps)
    assert len(read) == 1


def rows_read(model: Any) -> list[int]:
    """Give, as it grows, how many rows each call of the decoder reads."""
    sizes: list[int] = []
    model.decoder.register_forward_pre_hook(lambda _, args: sizes.append(len(args[0].x)))
    return sizes


def test_rows_that_have_ended_are_read_no_more(writer: Maker, plain: Plain) -> None:
    model = next(model for model in map(seeded(writer), range(50)) if spread_of(model, plain))
    sizes = rows_read(model)
    got = model.generate(*padded(ROWS, "right"), max_len=9)
    assert sizes[0] == 4
    assert sizes[-1] < 4
    assert sizes == sorted(sizes, reverse=True)
    for row, length in zip(got.ids[:, 0].tolist(), got.lengths[:, 0].tolist(), strict=True):
        assert row[length + 1 :] == [0] * (len(row) - length - 1)


def seeded(writer: Maker) -> Callable[[int], Any]:
    return lambda seed: writer(seed=seed)


def spread_of(model: Any, plain: Plain) -> bool:
    """Tell whether a model's answers end at three different places."""
    return len({len(plain(model, row, 9)) for row in ROWS}) > 2


def test_behind_an_end_stands_padding_also_while_most_rows_still_write(writer: Maker, plain: Plain) -> None:
    model = next(model for model in map(seeded(writer), range(50)) if spread_of(model, plain))
    early, *_, late = sorted(ROWS, key=lambda row: len(plain(model, row, 9)))
    sizes = rows_read(model)
    got = model.generate(*padded([early, *[late] * 5], "right"), max_len=9).ids[:, 0].tolist()
    assert sizes[len(plain(model, early, 9))] == 6  # the row that has ended is still computed
    ended, writes = plain(model, early, 9), plain(model, late, 9)
    assert got == [ended + [0] * (len(writes) - len(ended)), *[writes] * 5]


@pytest.mark.parametrize("beam", [1, 3])
def test_a_row_that_is_full_leaves_though_most_others_still_write(writer: Maker, beam: int) -> None:
    """Learned positions end at 8: another step of the full row would be an error."""
    model = writer(position="learned", max_len=8)
    with torch.no_grad():
        model.head.bias[2] = -30.0
    sizes = rows_read(model)
    got = model.generate(*padded([ROWS[0], *[[6]] * 5], "right"), beam=beam)
    assert got.lengths[:, 0].tolist() == [3, 7, 7, 7, 7, 7]
    assert sizes == [6, *[6 * beam] * 2, *[5 * beam] * 4]


def test_what_was_written_is_counted_and_scored_up_to_the_end() -> None:
    """Row 0 ends at its second token and is still computed at the third; row 1 is cut off."""
    scores = torch.tensor([[0.0, 1.0, 2.0, 3.0], [3.0, 2.0, 1.0, 0.0]], dtype=torch.bfloat16)
    rows, writing = torch.arange(2), torch.tensor([True, True])
    ids = torch.tensor([[3, 0], [2, 1], [0, 1]])
    steps = [
        StepOutput(ids[0], scores, rows, writing),
        StepOutput(ids[1], scores, rows, writing),
        StepOutput(ids[2], scores, rows, torch.tensor([False, True])),
    ]
    got = collect(steps, 0.6, Symbols(pad=0, bos=1, eos=2))
    assert got.ids[:, 0].tolist() == [[3, 2, 0], [0, 1, 1]]
    assert got.lengths[:, 0].tolist() == [1, 3]
    chances = scores.float().log_softmax(-1)
    first = chances[0, 3] + chances[0, 2]
    other = chances[1, 0] + 2 * chances[1, 1]
    wanted = torch.stack([first / length_penalty(2, 0.6), other / length_penalty(3, 0.6)])
    torch.testing.assert_close(got.scores[:, 0], wanted)


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("max_len", [None, 4])
def test_each_row_writes_until_the_model_is_full(writer: Maker, beam: int, max_len: int | None) -> None:
    """Learned positions end at 8: a row that went on beside longer ones would be an error."""
    model = writer(position="learned", max_len=8)
    with torch.no_grad():
        model.head.bias[2] = -30.0
    got = model.generate(*padded(ROWS, "right"), max_len=max_len, beam=beam)
    assert got.lengths[:, 0].tolist() == [min(max_len or 8, 8 - len(row)) for row in ROWS]
    for at, row in enumerate(ROWS):
        assert model.generate(torch.tensor([row]), max_len=max_len, beam=beam).best()[0] == got.best()[at]


def test_padding_may_be_the_end_as_in_gpt2(writer: Maker) -> None:
    model = writer()
    wanted = model.generate(*padded(ROWS, "right"), max_len=6)
    model.symbols = Symbols(pad=2, bos=2, eos=2)
    got = model.generate(*padded(ROWS, "right"), max_len=6)
    assert got.best() == wanted.best()
    assert got.lengths.tolist() == wanted.lengths.tolist()
    torch.testing.assert_close(got.scores, wanted.scores)
    assert model.generate(torch.tensor([[2]]), max_len=2).ids.shape[:2] == (1, 1)


def test_the_model_stays_as_it_was_and_writes_without_dropout(writer: Maker) -> None:
    model = writer()
    for part in (model.target.dropout, model.decoder.blocks[0].dropout):
        part.p = 0.9
    model.train()
    model.head.eval()
    got = [model.generate(torch.tensor([[3, 4]]), max_len=9) for _ in range(3)]
    assert all(torch.equal(each.ids, got[0].ids) and torch.equal(each.scores, got[0].scores) for each in got)
    assert not got[0].scores.requires_grad
    assert model.training
    assert not model.head.training
    assert all(part.training for part in model.decoder.modules())


def test_prompts_of_answers_may_differ_by_row_or_not(writer: Maker, plain: Plain) -> None:
    model = writer(encoder=True, seed=3)
    source, lengths = padded(ROWS, "right")
    starts = [[1], [1, 5, 4], [1, 3], [1, 6]]
    for prompt, each in (
        (padded(starts, "right"), starts),
        (padded(starts, "left"), starts),
        (torch.tensor([1, 4, 4]), [[1, 4, 4]] * 4),
        (torch.tensor([[1, 3], [1, 4], [1, 5], [1, 6]]), [[1, 3], [1, 4], [1, 5], [1, 6]]),
        (None, [[1]] * 4),
    ):
        got = model.generate(source, lengths, max_len=5, prompt=prompt)
        wanted = [plain(model, start, 5, torch.tensor([row]), None) for start, row in zip(each, ROWS, strict=True)]
        assert answers(got) == wanted


def test_best_is_lists_without_end_and_padding() -> None:
    got = Generated(torch.tensor([[[3, 2, 0]], [[4, 5, 6]]]), torch.tensor([[1], [3]]), torch.zeros(2, 1))
    assert got.best() == [[3], [4, 5, 6]]


def test_the_length_penalty_is_that_of_the_paper() -> None:
    assert length_penalty(1, 0.6) == 1.0
    assert length_penalty(7, 0.5) == pytest.approx(2**0.5)
