"""Tasks by their text."""

import pytest

from zoo.data.sequences import ListOps, Recall
from zoo.data.sequences.named import TASKS, task_named
from zoo.errors import ConfigError


@pytest.mark.parametrize("name", TASKS)
def test_each_name_alone_is_the_task_with_its_defaults(name: str) -> None:
    assert task_named(name) == TASKS[name][0]()


def test_numbers_stand_behind_the_colon_and_the_last_may_be_left_out() -> None:
    assert task_named("mqar:2,16") == Recall(pairs=2, length=16)
    assert task_named("mqar:2,16,32") == Recall(pairs=2, length=16, vocab_size=32)
    assert task_named("listops:lra") == ListOps.arena()


@pytest.mark.parametrize("text", ["mqar:x", "mqar:16,32", "mqar:1,2,3,4", "inductio", "listops:long"])
def test_what_does_not_fit_is_refused_by_its_text(text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        task_named(text)
