"""What `explore` says of a model that was not made by name."""

import pytest

from zoo.core import ConfigError, Explorable


class Mine(Explorable):
    pass


def test_a_model_that_was_not_made_by_name_is_told_what_to_call() -> None:
    with pytest.raises(ConfigError, match=r"Mine was not made by zoo\.create: .*explore\(model"):
        Mine().explore(1)


def test_the_function_that_is_named_gets_the_model_and_its_inputs() -> None:
    mine = Mine()
    mine.explorer = "builtins:isinstance"
    assert mine.explore(Mine) is True
