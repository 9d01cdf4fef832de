import pytest
import torch

from zoo.core import IGNORED
from zoo.data.sequences.selective_copy import SelectiveCopy
from zoo.errors import ConfigError


def test_the_letters_are_asked_for_in_their_order() -> None:
    task = SelectiveCopy(letters=3, length=12, alphabet=5)
    drawn = task.draw(60, torch.Generator().manual_seed(0))
    for ids, targets in zip(drawn.ids.tolist(), drawn.targets.tolist(), strict=True):
        assert [token for token in ids[:9] if token < 5] == targets[9:]
        assert [task.words[token] for token in ids[9:]] == ["?"] * 3
        assert targets[:9] == [IGNORED] * 9
        assert [task.words[token] for token in ids[:9]].count(".") == 6
    assert (drawn.ids[:, :9] < 5).any(0).all()  # letters lie anywhere


def test_too_many_letters_are_refused() -> None:
    with pytest.raises(ConfigError, match="letters=7, length=12"):
        SelectiveCopy(letters=7, length=12)
