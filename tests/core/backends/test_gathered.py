"""The gathered backend: groups of queries, and what they cost."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from zoo.core import Blocks, Causal, ConfigError, Fixed, Globals, Neighbourhood, Window, attend, big_bird, plan
from zoo.core.backends.query_groups import buckets, counted, groupable, groups
from zoo.core.patterns.pattern import Pattern
from zoo.testing.strategies import grouped_patterns, random_cases

pytestmark = pytest.mark.usefixtures("float64")


@given(pattern=grouped_patterns(), queries=st.integers(0, 9), keys=st.integers(0, 9))
@random_cases(30)
def test_every_allowed_pair_lies_in_exactly_one_group(pattern: Pattern, queries: int, keys: int) -> None:
    count = torch.zeros(queries, keys, dtype=torch.int)
    for of_queries, of_keys in groups(pattern, keys, queries):
        assert len(of_queries) == len(set(of_queries))
        assert len(of_keys) == len(set(of_keys))
        for i in of_queries:
            count[i, of_keys] += 1
    allowed = pattern.mask(torch.arange(queries)[None], torch.arange(keys)).expand(1, 1, queries, keys)[0, 0]
    assert not (count > 1).any()
    assert (count[allowed] == 1).all()


@pytest.mark.parametrize(
    "pattern",
    [big_bird(1024, 16, randoms=2), Fixed(32, 4), Neighbourhood(32, 32, 2), Neighbourhood(31, 33, 2) | Globals((5,))],
)
def test_long_patterns_equal_their_mask(pattern: Pattern) -> None:
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 1024 if not isinstance(pattern, Blocks) else 1000, 2, 8) for _ in range(3))
    q, k, v = (x[:, :1023] if "31" in repr(pattern) else x for x in (q, k, v))
    torch.testing.assert_close(
        attend(q, k, v, pattern, backend="gathered"), attend(q, k, v, pattern, backend="dense"), atol=2e-6, rtol=2e-5
    )


@pytest.mark.parametrize("pattern", [big_bird(8192, 64), Fixed(128, 8), Neighbourhood(96, 96, 3)])
def test_long_sets_are_planned_in_groups(pattern: Pattern) -> None:
    n = 96 * 96 if isinstance(pattern, Neighbourhood) else 8192
    chosen = plan(pattern, queries=n, keys=n, heads=4, head_dim=64)
    assert chosen.backend == "gathered"
    assert chosen.flops < 4 * 2 * 4 * 128 * pattern.pairs(n, n)


def test_blocks_cost_their_pairs_and_no_more() -> None:
    pattern = Blocks(4, ((0, 1), (1, 2), (0, 2)))
    assert counted(pattern, 12, 12, 0)[0] == pattern.pairs(12, 12)


def test_a_bucket_is_made_once_for_equal_patterns() -> None:
    first, second = (buckets(Blocks(4, ((0,), (1,))), 8, 8, 0, torch.device("cpu")) for _ in range(2))
    assert first is second


def test_patterns_without_groups_are_refused() -> None:
    assert not groupable(Window(2))
    assert not groupable(Causal() & Window(3))
    assert not groupable(Fixed(4) | Window(3))
    q = torch.randn(1, 4, 1, 2)
    with pytest.raises(ConfigError, match="no groups of queries that read the same keys"):
        attend(q, q, q, Window(2, 1), backend="gathered")


def test_queries_before_position_0_are_refused_and_served_by_others() -> None:
    q, pattern = torch.randn(1, 4, 1, 2), Fixed(1) | Globals((0,))
    with pytest.raises(ConfigError, match="queries stand before position 0, where no group is"):
        attend(q, q, q, pattern, q_start=-2, backend="gathered")
    wanted = attend(q, q, q, pattern, q_start=-2, backend="reference")
    torch.testing.assert_close(attend(q, q, q, pattern, q_start=-2), wanted)
