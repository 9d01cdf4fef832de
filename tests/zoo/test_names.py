import pytest

from zoo import names
from zoo.errors import PluginError


@pytest.mark.parametrize("name", ["Vit-small", "vit_small", "vit.small", "a/b", "a\\b", "a:b", "a@b", "", "vit-"])
def test_only_kebab_case_is_legal(name: str) -> None:
    with pytest.raises(PluginError, match="kebab-case"):
        names.check_legal(name, "model")


def test_published_names_are_legal() -> None:
    for name in ("vit-base-p32", "bit-r50x1", "resnet-18"):
        names.check_legal(name, "model")


def test_names_are_looked_up_without_case_and_underscores() -> None:
    assert names.normalise("Vit_Small") == "vit-small"


def test_numbers_sort_by_value() -> None:
    assert sorted(["resnet-101", "resnet-18", "bit"], key=names.natural) == ["bit", "resnet-18", "resnet-101"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("vit-small", ("", "vit-small")),
        ("vision:vit-small", ("vision", "vit-small")),
        ("hf-hub:a/b:c", ("hf-hub", "a/b:c")),
        ("C:\\models\\vit.pt", ("", "C:\\models\\vit.pt")),
        ("./a:b", ("", "./a:b")),
    ],
)
def test_a_prefix_has_two_characters_and_is_no_path(text: str, parts: tuple[str, str]) -> None:
    assert names.split_prefix(text) == parts


def test_wildcards_may_be_one_or_several() -> None:
    assert names.matches("vit-small", "Vit_*")
    assert names.matches("vit-small", ["resnet*", "*small"])
    assert not names.matches("vit-small", ["resnet*", ""])


def test_suggestions_are_near_names_only() -> None:
    known = ["vit-small", "vit-smalls", "resnet-18"]
    assert names.did_you_mean("vit-smal", known) == " Did you mean 'vit-small' or 'vit-smalls'?"
    assert names.did_you_mean("zzz", known) == ""


def test_a_number_and_its_noun_agree() -> None:
    assert [names.counted(number, "step") for number in (0, 1, 2_000)] == ["0 steps", "1 step", "2,000 steps"]


def test_names_are_listed_as_in_prose() -> None:
    assert names.listed(["a", "b", "c"]) == "'a', 'b' and 'c'"
    assert names.listed([]) == ""


def test_one_is_no_plural() -> None:
    assert [names.counted(count, "test example") for count in (0, 1, 1200)] == [
        "0 test examples",
        "1 test example",
        "1,200 test examples",
    ]
