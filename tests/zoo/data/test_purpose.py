"""Data that a run is judged on need not fulfil the rules of training, within the block and not after it."""

import numpy as np
import pytest

import zoo
from zoo.data import names_of
from zoo.data.purpose import for_training, to_judge
from zoo.data.splits import complete
from zoo.data.tables.table import draw_parts


def test_rules_of_training_do_not_hold_for_what_is_judged() -> None:
    with to_judge():
        assert not for_training()
        assert names_of(["b"], "mine") == ["b"]
        assert sum(map(len, complete({"train": ["one"]}, str, 0, "mine"))) == 1
        parts = draw_parts({"train": 1}, np.array([7], np.uint64), 0, "mine", np.zeros(1, np.int64))
        assert sum(map(len, parts.values())) == 1
    assert for_training()
    with pytest.raises(zoo.DataError, match="at least 2 are needed"):
        names_of(["b"], "mine")


def test_the_rules_hold_again_after_an_error() -> None:
    with pytest.raises(KeyError), to_judge():
        raise KeyError
    assert for_training()
