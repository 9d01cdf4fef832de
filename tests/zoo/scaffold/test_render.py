import pytest

from zoo import ConfigError
from zoo.scaffold.render import chosen, rendered

TEXT = "a\n#: x\nb\n#: end\n#: no x\nc\n#: end\nd\n"


def test_lines_of_a_part_stand_where_it_is_wanted_and_the_others_where_not() -> None:
    assert chosen(TEXT, {"x"}) == "a\nb\nd\n"
    assert chosen(TEXT, ()) == "a\nc\nd\n"


@pytest.mark.parametrize("text", ["#: x\n", "#: end\n", "#: x\n#: y\n#: end\n"])
def test_a_mark_that_is_not_closed_is_an_error(text: str) -> None:
    with pytest.raises(ConfigError, match="template"):
        chosen(text, ())


def test_a_placeholder_without_a_value_is_an_error() -> None:
    assert rendered("$name-tiny", {"name": "gait"}, ()) == "gait-tiny"
    with pytest.raises(KeyError):
        rendered("$other", {"name": "gait"}, ())
