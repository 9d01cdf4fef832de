import pytest
import torch

from zoo.core import IGNORED
from zoo.data.sequences.induction import Induction
from zoo.errors import ConfigError


def test_what_followed_the_mark_is_asked_for_at_the_end() -> None:
    task = Induction(length=9, alphabet=4)
    drawn = task.draw(100, torch.Generator().manual_seed(0))
    places = set()
    for ids, targets in zip(drawn.ids.tolist(), drawn.targets.tolist(), strict=True):
        assert ids.count(4) == 2
        assert ids[-1] == 4
        places.add(ids.index(4))
        assert targets == [IGNORED] * 8 + [ids[ids.index(4) + 1]]
    assert places == set(range(7))


def test_a_sequence_without_room_is_refused() -> None:
    with pytest.raises(ConfigError, match="length=2"):
        Induction(length=2)
