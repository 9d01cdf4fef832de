"""Values of a configuration as JSON."""

import json
from fractions import Fraction

from zoo.weights.config_values import is_shown, plain


def test_values_of_json_stay_and_tuples_become_lists() -> None:
    value = {"a": (1, 2.5), "b": [True, None, "x"], 3: {}}
    assert plain(value) == {"a": [1, 2.5], "b": [True, None, "x"], "3": {}}
    assert not is_shown(plain(value))


def test_an_object_becomes_its_text_which_is_marked_as_such() -> None:
    value = plain({"part": [Fraction(1, 2)]})
    assert json.dumps(value) == '{"part": ["Fraction(1, 2)"]}'
    assert is_shown(value)
    assert not is_shown("Fraction(1, 2)")
