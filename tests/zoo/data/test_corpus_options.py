from collections.abc import Mapping
from typing import Any

import pytest

from zoo.data.corpus import Corpus
from zoo.data.corpus_options import augmentation_names, mixes_inputs, with_options
from zoo.errors import ConfigError


class Plain(Corpus):
    name = description = fingerprint = task = metric = "letters"
    sizes: Mapping[str, int] = {}


class WithOptions(Plain):
    def __init__(self, *chosen: Any) -> None:
        self.chosen = chosen

    def with_augmentation(self, names: str) -> Corpus:
        return WithOptions(*self.chosen, names)  # type: ignore[abstract]

    def with_cache(self, wanted: bool) -> Corpus:
        return WithOptions(*self.chosen, wanted)  # type: ignore[abstract]


PLAIN: Corpus = Plain()  # type: ignore[abstract]
OPTIONS: Corpus = WithOptions()  # type: ignore[abstract]


def test_options_that_are_not_given_leave_a_corpus_as_it_is() -> None:
    for corpus in (PLAIN, OPTIONS):
        assert with_options(corpus) is corpus


def test_options_are_set_in_turn() -> None:
    found: Any = with_options(OPTIONS, "crop+mixup", False)
    assert found.chosen == ("crop+mixup", False)


def test_mixup_is_an_augmentation_of_data_that_mix_their_examples() -> None:
    assert with_options(PLAIN, mixup=0.2) is PLAIN
    found: Any = with_options(OPTIONS, "crop", mixup=0.2)
    assert found.chosen == ("crop",)
    mixing: Any = type("Mixing", (WithOptions,), {"mixes_inputs": True})()
    assert mixes_inputs(mixing)
    options: list[Any] = [with_options(mixing, augment, mixup=0.2) for augment in (None, "crop", "MixUp+crop")]
    assert [each.chosen for each in options] == [("mixup:0.2",), ("crop+mixup:0.2",), ("crop+mixup:0.2",)]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"augment": "crop"}, "augment='crop': the data 'letters' leave no choice of augmentation"),
        ({"cache": True}, "cache=True: the data 'letters' are not decoded from files, and need no cache"),
    ],
)
def test_data_without_an_option_refuse_it(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        with_options(PLAIN, **options)


def test_data_without_a_cache_take_no_cache() -> None:
    assert with_options(PLAIN, cache=False) is PLAIN


def test_names_are_split_at_plus_and_comma_in_any_case() -> None:
    assert augmentation_names("Crop + mixup,ERASING", ["none", "crop"], ["mixup", "erasing"]) == [
        "crop",
        "mixup",
        "erasing",
    ]
    assert augmentation_names("mixup", ["none"], ["mixup"]) == ["mixup"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("crop+blur", r"augment='crop\+blur': there is no 'blur'; give one of none, crop, and any of mixup, with"),
        ("crop+none", "augment='crop.none': give one of none, crop"),
        ("mixup,mixup", "give one of"),
        ("", "there is no ''"),
    ],
)
def test_names_that_do_not_go_together(text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        augmentation_names(text, ["none", "crop"], ["mixup"])
