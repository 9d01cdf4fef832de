import pytest

from zoo.bench.study.options import names_in, numbers_in
from zoo.errors import ConfigError


def test_names_and_numbers_stand_between_commas() -> None:
    assert names_in(" a, b,,") == ("a", "b")
    assert numbers_in("1, 20,3_000", "--sizes") == (1, 20, 3000)


@pytest.mark.parametrize(
    ("text", "part"), [("1,a", "'a'"), ("0", "'0'"), ("1,,2", "''"), ("", "''"), ("-1", "'-1'"), ("²", "'²'")]
)
def test_what_is_no_number_is_told_with_its_option(text: str, part: str) -> None:
    with pytest.raises(ConfigError, match=f"--sizes {text}: {part} is not a whole number of at least 1"):
        numbers_in(text, "--sizes")
