"""Beam search: against every answer there is, and its bound, pool and batches."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from zoo.core.generation.beam_search import Beam, BeamState, FinishedHypotheses, candidates, search
from zoo.core.generation.loop import length_penalty
from zoo.core.special_tokens import Symbols

Maker = Callable[..., Any]
Told = Callable[..., list[float]]

VOCAB = 5


def every_answer(max_len: int) -> list[list[int]]:
    """Give all answers of a vocabulary: those that end, and those that are cut off."""
    others = [token for token in range(VOCAB) if token != 2]
    whole = [[*start, 2] for n in range(max_len) for start in itertools.product(others, repeat=n)]
    return whole + [list(start) for start in itertools.product(others, repeat=max_len)]


def totals_of(model: Any, prompt: list[int], every: list[list[int]], source: torch.Tensor | None) -> list[float]:
    """Give the log-probability of each answer by teacher forcing of all at once."""
    n = max(map(len, every))
    ids = torch.tensor([prompt + one + [0] * (n - len(one)) for one in every])
    given = () if source is None else (source.expand(len(every), -1), None)
    with torch.no_grad():
        chances = model(*given, ids[:, :-1]).log_softmax(-1)[:, len(prompt) - 1 :]
    chances = chances.gather(2, ids[:, len(prompt) :, None])[..., 0]
    valid = torch.arange(n) < torch.tensor([[len(one)] for one in every])
    totals: list[float] = (chances * valid).sum(1).tolist()
    return totals


@pytest.mark.parametrize("alpha", [0.6, 0.0, 1.5, -0.7])
@pytest.mark.parametrize("max_len", [1, 3])
@pytest.mark.parametrize("encoder", [False, True])
def test_a_beam_as_wide_as_all_answers_finds_the_best_in_order(
    writer: Maker, encoder: bool, max_len: int, alpha: float
) -> None:
    model = writer(vocab=VOCAB, encoder=encoder, seed=max_len)
    width, n_best = VOCAB**max_len, 4
    given = (torch.tensor([[3, 4], [4, 4]]), None)
    got = model.generate(*given, max_len=max_len, beam=width, n_best=n_best, length_penalty=alpha)
    for row in range(2):
        prompt, source = ([1], given[0][row : row + 1]) if encoder else (given[0][row].tolist(), None)
        every = every_answer(max_len)
        totals = totals_of(model, prompt, every, source)
        scored = [(total / length_penalty(len(one), alpha), one) for total, one in zip(totals, every, strict=True)]
        best = sorted(scored, reverse=True)[:n_best]
        assert got.scores[row].tolist() == pytest.approx([score for score, _ in best])
        assert [ids[: len(one)] for ids, (_, one) in zip(got.ids[row].tolist(), best, strict=True)] == [
            one for _, one in best
        ]
        assert got.lengths[row].tolist() == [len([token for token in one if token != 2]) for _, one in best]


@pytest.mark.parametrize("seed", range(5))
def test_a_beam_of_one_is_greedy(writer: Maker, seed: int) -> None:
    """Without a length penalty; with one, a search goes on behind an end as long as a longer answer might beat it."""
    model = writer(seed=seed)
    given = (torch.tensor([[3, 4, 5], [6, 6, 3], [5, 4, 3]]), torch.tensor([3, 1, 2]))
    decoding, prompt, max_new_tokens = model._begin(given, None, 8)
    got = search(decoding, prompt, Beam(1, 1, 0.0), max_new_tokens, model.symbols)
    greedy = model.generate(*given, max_len=8, length_penalty=0.0)
    assert got.best() == greedy.best()
    assert got.lengths.tolist() == greedy.lengths.tolist()
    torch.testing.assert_close(got.scores, greedy.scores)


@pytest.mark.parametrize("seed", range(5))
def test_a_search_follows_what_a_search_by_lists_follows(writer: Maker, seed: int) -> None:
    model = writer(seed=seed)
    got = model.generate(torch.tensor([[3, 4]]), max_len=6, beam=3, n_best=2, length_penalty=0.6)

    @torch.no_grad()
    def chances(answer: list[int]) -> list[float]:
        following: list[float] = model(torch.tensor([[3, 4, *answer]]))[0, -1].log_softmax(-1).tolist()
        return following

    wanted = by_lists(chances, 3, 2, 6)
    assert got.scores[0].tolist() == pytest.approx([score for score, _ in wanted])
    assert [row[:n] for row, n in zip(got.ids[0].tolist(), got.lengths[0].tolist(), strict=True)] == [
        [token for token in answer if token != 2] for _, answer in wanted
    ]


Scored = list[tuple[float, list[int]]]


def by_lists(
    chances: Callable[[list[int]], list[float]], width: int, n_best: int, max_len: int, alpha: float = 0.6
) -> Scored:
    """Search with lists and no early stop: the sense of `BeamState`, spelled out."""
    live: Scored = [(0.0, [])]
    finished: Scored = []
    for step in range(1, max_len + 1):
        grown = [(s + chance, [*one, token]) for s, one in live for token, chance in enumerate(chances(one))]
        grown.sort(reverse=True)
        finished += [(s / length_penalty(step, alpha), one) for s, one in grown[:width] if one[-1] == 2]
        live = [(s, one) for s, one in grown if one[-1] != 2][:width]
    finished += [(s / length_penalty(max_len, alpha), one) for s, one in live]
    return sorted(finished, reverse=True)[:n_best]


@pytest.mark.parametrize("alpha", [-1.5, 0.0, 3.0])
@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize(("seed", "sharp"), [(0, 3.0), (0, 1.0), (1, 1.0), (2, 1.0)])
def test_the_search_stops_only_where_no_longer_answer_is_better(
    seed: int, sharp: float, width: int, alpha: float
) -> None:
    """What follows depends on the last token only, as a table says: nothing else can make a difference."""
    table = torch.randn(VOCAB, VOCAB, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * sharp
    chances = table.log_softmax(-1)
    state = BeamState(table[3:4], Beam(width, width, alpha), [8], Symbols(pad=0, bos=1, eos=2))
    scores = table[3:4]
    while state.advance(scores) is not None:
        scores = table[state.ids[..., -1].flatten()]
    got = state.answers()
    wanted = by_lists(lambda one: chances[one[-1] if one else 3].tolist(), width, width, 8, alpha)
    assert got.scores[0].tolist() == pytest.approx([score for score, _ in wanted])


@pytest.mark.parametrize("alpha", [-0.7, 0.0, 0.6])
@pytest.mark.parametrize("seed", range(3))
def test_rows_that_may_write_more_do_not_end_with_those_that_may_write_less(seed: int, alpha: float) -> None:
    """Each row of one search, by a table as above, gets what it gets alone."""
    table = torch.randn(VOCAB, VOCAB, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    chances, begins, max_new_tokens = table.log_softmax(-1), [3, 4, 3], [2, 6, 4]
    state = BeamState(table[begins], Beam(3, 2, alpha), max_new_tokens, Symbols(pad=0, bos=1, eos=2))
    scores = table[begins]
    while state.advance(scores) is not None:
        scores = table[state.ids[..., -1].flatten()]
    got = state.answers()
    for row in range(3):

        def following(one: list[int], begin: int = begins[row]) -> list[float]:
            every: list[float] = chances[one[-1] if one else begin].tolist()
            return every

        wanted = by_lists(following, 3, 2, max_new_tokens[row], alpha)
        assert got.scores[row].tolist() == pytest.approx([score for score, _ in wanted])
        assert got.lengths[row].tolist() == [len([token for token in one if token != 2]) for _, one in wanted]


@pytest.mark.parametrize(("position", "seed"), [("rotary", 0), ("rotary", 1), ("learned", 2)])
def test_rows_are_searched_as_each_alone(writer: Maker, position: str, seed: int) -> None:
    model = writer(position=position, seed=seed)
    rows = [[3, 4, 5, 6, 3], [6], [5, 5, 3], [4, 6, 5, 3]]
    n = max(map(len, rows))
    ids = torch.tensor([[0] * (n - len(row)) + row for row in rows])
    got = model.generate(ids, ids != 0, max_len=7, beam=4, n_best=3)
    for at, row in enumerate(rows):
        one = model.generate(torch.tensor([row]), max_len=7, beam=4, n_best=3)
        t = min(one.ids.shape[2], got.ids.shape[2])
        assert got.ids[at, :, :t].tolist() == one.ids[0, :, :t].tolist()
        assert not got.ids[at, :, t:].any()
        assert got.lengths[at].tolist() == one.lengths[0].tolist()
        torch.testing.assert_close(got.scores[at], one.scores[0])


def test_scores_fall_and_are_those_of_teacher_forcing(writer: Maker, told: Told) -> None:
    model = writer(encoder=True, seed=4)
    source = torch.tensor([[3, 4, 5]])
    got = model.generate(source, None, max_len=6, beam=5, n_best=5, length_penalty=0.9)
    assert got.scores[0].tolist() == sorted(got.scores[0].tolist(), reverse=True)
    for ids, length, score in zip(got.ids[0].tolist(), got.lengths[0].tolist(), got.scores[0].tolist(), strict=True):
        answer = ids[: length + 1]
        assert score == pytest.approx(sum(told(model, [1], answer, source, None)) / length_penalty(len(answer), 0.9))


def test_a_wider_beam_never_reads_the_source_again(writer: Maker) -> None:
    model = writer(encoder=True)
    read: list[int] = []
    model.encoder.register_forward_hook(lambda *_: read.append(1))
    model.generate(torch.tensor([[3, 4, 5]]), None, max_len=5, beam=4)
    assert read == [1]


def test_the_search_stops_when_nothing_can_get_better(writer: Maker) -> None:
    """Without a length penalty a first answer that is likelier than all others together ends the search at once."""
    model = writer()
    with torch.no_grad():
        model.head.bias[2] = 40.0
    read: list[int] = []
    model.decoder.register_forward_hook(lambda *_: read.append(1))
    got = model.generate(torch.tensor([[3]]), max_len=20, beam=2, length_penalty=0.0)
    assert got.best() == [[]]
    assert len(read) == 1


def test_fewer_answers_than_wanted_are_marked(writer: Maker) -> None:
    model = writer(vocab=4)
    got = model.generate(torch.tensor([[3]]), max_len=1, beam=6, n_best=6)
    assert torch.isfinite(got.scores[0]).tolist() == [True] * 4 + [False] * 2
    assert got.lengths[0, 4:].tolist() == [0, 0]
    assert not got.ids[0, 4:].any()


def test_a_pool_keeps_the_best_in_order_and_none_for_nothing() -> None:
    pool = FinishedHypotheses(torch.tensor([[[3], [0]]]), torch.tensor([[1, 0]]), torch.tensor([[-1.0, -math.inf]]))
    pool = pool.put(torch.tensor([[[4, 5], [5, 5]]]), 2, torch.tensor([[-math.inf, -0.5]]), 0)
    assert pool.ids.tolist() == [[[5, 5], [3, 0]]]
    assert pool.lengths.tolist() == [[2, 1]]
    assert pool.scores.tolist() == [[-0.5, -1.0]]


def test_candidates_are_the_best_of_all_beams() -> None:
    scores, live = torch.randn(2, 3, 9, dtype=torch.float64), -torch.rand(2, 3, dtype=torch.float64)
    total, parents, tokens = candidates(scores, live - scores.logsumexp(-1), 6)
    wanted = (scores.log_softmax(-1) + live[..., None]).flatten(1)
    best, at = wanted.topk(6)
    torch.testing.assert_close(total, best)
    assert torch.equal(parents * 9 + tokens, at)
