"""Numbers of layers and heads, as options write them."""

import pytest

from zoo.cli.looking.chosen_numbers import numbers
from zoo.errors import ConfigError


def test_numbers_are_single_or_ranges_in_one_option_or_several() -> None:
    assert numbers("--layers", ["1, 3-5"]) == numbers("--layers", ["1", "3-4", "5,1"]) == (1, 3, 4, 5)
    assert numbers("--layers", None) == numbers("--layers", [""]) == ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x", "--heads x: 'x' is neither a number nor a range such as 2-4"),
        ("3-", "--heads 3-: '3-' is neither"),
        ("1,", "--heads 1,: '' is neither"),
        ("1,4-2", "--heads 1,4-2: the range 4-2 ends before it begins"),
    ],
)
def test_what_is_no_number_is_told(text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        numbers("--heads", ["2", text])
