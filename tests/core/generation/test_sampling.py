"""Choosing a token: draws follow the probabilities, and repeat with their seed."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.core.generation.sampling import Greedy, Sample, choice, nucleus, top

Maker = Callable[..., Any]

PROMPT = torch.tensor([[3, 4], [5, 6], [6, 6]])


def chances(scores: torch.Tensor, choose: Any, draws: int = 20_000) -> torch.Tensor:
    """Give how often each token is drawn."""
    drawn = choose(scores.expand(draws, -1), torch.arange(draws), draws)
    return torch.bincount(drawn, minlength=scores.shape[-1]) / draws


SCORES = torch.tensor([1.0, -0.5, 0.3, 2.0, -torch.inf, 0.9])


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_draws_follow_the_softmax(temperature: float) -> None:
    got = chances(SCORES, Sample(temperature, None, None, 0))
    wanted = (SCORES / temperature).softmax(-1)
    possible = wanted > 0
    assert not got[~possible].any()
    squares = 20_000 * ((got - wanted)[possible] ** 2 / wanted[possible]).sum()
    assert float(squares) < 18.5  # chi-square of 4 degrees of freedom: 1 in 1,000


def test_the_best_k_are_drawn_from_by_their_own_probabilities() -> None:
    got = chances(SCORES, Sample(1.0, 3, None, 0))
    wanted = SCORES.masked_fill(SCORES < 0.9, -torch.inf).softmax(-1)
    torch.testing.assert_close(got, wanted, atol=0.015, rtol=0)
    assert not got[SCORES < 0.9].any()


@pytest.mark.parametrize(("top_p", "kept"), [(0.5, 1), (0.52, 2), (0.72, 3), (0.999, 5), (1.0, 5)])
def test_the_fewest_that_sum_up_to_p_are_drawn_from(top_p: float, kept: int) -> None:
    """Sorted, the probabilities are 0.51, 0.19, 0.17, 0.09 and 0.04."""
    sums = SCORES.softmax(-1).sort(descending=True).values.cumsum(-1)
    assert kept == int((sums < top_p).sum()) + 1 or top_p == 1.0
    got = chances(SCORES, Sample(1.0, None, top_p, 0))
    limit = SCORES.sort(descending=True).values[kept - 1]
    torch.testing.assert_close(got, SCORES.masked_fill(limit > SCORES, -torch.inf).softmax(-1), atol=0.015, rtol=0)
    assert not got[limit > SCORES].any()


def test_of_the_best_k_the_fewest_that_sum_up_to_p_are_drawn_from() -> None:
    """Of the best three, tokens 3, 0 and 5, the probabilities are 0.59, 0.22 and 0.20."""
    got = chances(SCORES, Sample(1.0, 3, 0.7, 0))
    wanted = SCORES.masked_fill(SCORES < 1, -torch.inf).softmax(-1)
    torch.testing.assert_close(got, wanted, atol=0.015, rtol=0)
    assert got.nonzero()[:, 0].tolist() == [0, 3]


def test_a_draw_of_zero_takes_no_token_of_probability_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "rand", lambda *_, dtype, **options: torch.zeros(1, dtype=dtype))
    scores = torch.tensor([[-torch.inf, 0.0, 1.0]])
    assert Sample(1.0, None, None, 0)(scores, torch.tensor([0]), 1).tolist() == [1]


@pytest.mark.parametrize("at", [0, 1279, 1280, 1499])
def test_the_largest_is_found_in_blocks_and_behind_the_last(at: int) -> None:
    assert top(torch.zeros(1, 1500).index_fill(1, torch.tensor([at]), 1.0), 1)[1].tolist() == [[at]]


def test_a_nucleus_is_as_wide_as_its_row_asks_for() -> None:
    narrow, wide = torch.zeros(1000, dtype=torch.float64), torch.zeros(1000, dtype=torch.float64)
    narrow[7] = 20
    for rows in ([wide], [wide, narrow], [narrow]):
        kept, at = nucleus(torch.stack(rows).softmax(-1), 0.9995)
        assert (kept > 0).sum(-1).tolist() == [1000 if row is wide else 1 for row in rows]
        assert rows[-1] is wide or at[-1, 0] == 7


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("wish", [{"top_k": 1}, {"top_p": 1e-6}, {"temperature": 0.0}, {"temperature": 1e-9}], ids=str)
def test_what_leaves_one_token_is_greedy(writer: Maker, wish: dict[str, Any], seed: int) -> None:
    model = writer(seed=seed)
    wanted, got = model.generate(PROMPT, max_len=8), model.generate(PROMPT, max_len=8, **wish)
    assert got.best() == wanted.best()
    torch.testing.assert_close(got.scores, wanted.scores)


def test_a_seed_repeats_its_draws_and_leaves_pytorchs_alone(writer: Maker) -> None:
    model = writer()
    state = torch.get_rng_state()
    one, same, other = (model.generate(PROMPT, max_len=12, temperature=2.0, seed=seed).best() for seed in (1, 1, 2))
    assert one == same != other
    assert torch.equal(state, torch.get_rng_state())
    torch.manual_seed(5)
    drawn = model.generate(PROMPT, max_len=12, temperature=2.0).best()
    torch.manual_seed(5)
    assert model.generate(PROMPT, max_len=12, temperature=2.0).best() == drawn


def test_a_row_draws_the_same_whenever_others_end(writer: Maker) -> None:
    model = writer(encoder=True, seed=4)
    wish: dict[str, Any] = {"max_len": 10, "temperature": 1.5, "seed": 3}
    early, late = torch.tensor([[3, 3], [5, 6], [4, 4]]), torch.tensor([[6, 3], [5, 6], [3, 5]])
    lengths = [model.generate(source, None, **wish).lengths[:, 0].tolist() for source in (early, late)]
    assert lengths[0] != lengths[1]
    assert model.generate(early, None, **wish).best()[1] == model.generate(late, None, **wish).best()[1]


def test_scores_of_draws_are_those_of_the_model(writer: Maker, told: Callable[..., list[float]]) -> None:
    model = writer()
    got = model.generate(PROMPT, max_len=6, temperature=3.0, top_k=5, seed=0, length_penalty=0.0)
    for prompt, ids, length, score in zip(
        PROMPT.tolist(), got.ids[:, 0].tolist(), got.lengths[:, 0].tolist(), got.scores[:, 0].tolist(), strict=True
    ):
        assert score == pytest.approx(sum(told(model, prompt, ids[: length + 1])))


def test_nothing_asked_or_no_temperature_chooses_the_best() -> None:
    assert isinstance(choice(None, None, None, 3), Greedy)
    assert isinstance(choice(0.0, 5, 0.5, 3), Greedy)
    assert isinstance(choice(None, 5, None, None), Sample)


@given(rows=st.integers(1, 3), n=st.integers(1, 6000), k=st.integers(1, 8), seed=st.integers(0, 99), few=st.booleans())
@settings(max_examples=60, deadline=None)
def test_top_is_topk(rows: int, n: int, k: int, seed: int, few: bool) -> None:
    k = min(k, n)
    x = torch.randn(rows, n, generator=torch.Generator().manual_seed(seed))
    x = x.round() if few else x
    values, at = top(x, k)
    torch.testing.assert_close(values, x.topk(k).values, atol=0, rtol=0)
    torch.testing.assert_close(x.gather(1, at), values, atol=0, rtol=0)
    assert all(len(set(row)) == k for row in at.tolist())
