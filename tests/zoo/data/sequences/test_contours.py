import itertools
import math
import random

from zoo.data.sequences.contours import EDGE, STEP, Square


def test_contours_keep_their_steps_their_distance_and_the_edges_free() -> None:
    square = Square(24, random.Random(0))
    starts = [[(6.0, 6.0)] * 8, [(18.0, 18.0)] * 8]
    chains = next(found for _ in range(20) if (found := square.grow(starts, 5)))
    assert [chain[0] for chain in chains] == [(6.0, 6.0), (18.0, 18.0)]
    for chain in chains:
        assert len(chain) == 6
        assert all(math.isclose(math.dist(a, b), STEP) for a, b in itertools.pairwise(chain))
        assert all(EDGE <= place <= 24 - EDGE for point in chain for place in point)
    assert min(math.dist(a, b) for a, b in itertools.product(*chains)) > 1


def test_what_is_taken_is_not_entered_again() -> None:
    square = Square(16, random.Random(0))
    assert next(found for _ in range(20) if (found := square.grow([[(8.0, 8.0)]], 1)))
    before = square.taken
    assert square.grow([[(8.0, 8.0)] * 8], 1) is None
    assert square.taken == before
