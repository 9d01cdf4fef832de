import inspect
import pickle
from typing import Any

import pytest

import zoo
from zoo.core import Generator
from zoo.errors import ConfigError, KeywordError
from zoo.factory.keyword_aliases import KEYWORD_ALIASES
from zoo.factory.keywords import handed_on
from zoo.plugins.text.models.transformer import Bert, Transformer
from zoo.plugins.vision.models import VisionTransformer


@pytest.mark.parametrize(
    ("name", "keyword", "ours"),
    [
        ("bert-base", "hidden_size", "dim"),
        ("bert-base", "num_labels", "num_classes"),
        ("gpt2-small", "n_layer", "depth"),
        ("transformer-base", "nhead", "num_heads"),
        ("vit-small", "img_size", "image_size"),
        ("vit-small", "global_pool", "pool"),
    ],
)
def test_words_of_other_libraries_are_answered_by_ours(name: str, keyword: str, ours: str) -> None:
    given: dict[str, Any] = {keyword: 2}
    with pytest.raises(ConfigError, match=f"'{name}' has no keyword '{keyword}'. Did you mean '{ours}'"):
        zoo.create(name, **given)


def test_every_word_of_ours_is_taken_somewhere_and_no_word_of_theirs_is() -> None:
    functions: list[Any] = [zoo.create, zoo.train, Generator.generate, Transformer, Bert, VisionTransformer]
    taken = {name for function in functions for name in inspect.signature(function).parameters}
    assert set(KEYWORD_ALIASES.values()) <= taken
    assert not taken & KEYWORD_ALIASES.keys()


def test_a_keyword_that_neither_a_function_nor_the_model_has_is_told_from_both() -> None:
    def told(keyword: str) -> str:
        given: dict[str, Any] = {keyword: 3}
        with pytest.raises(ConfigError) as caught, handed_on("zoo.train", ["steps"]):
            zoo.create("bert-tiny", **given)
        return str(caught.value)

    assert told("stepz").endswith(" Nor has zoo.train. Did you mean 'steps'?")
    assert "Did you mean 'depth'" in told("depht")
    assert "zoo.train" not in told("depht")


def test_the_error_of_a_keyword_goes_between_processes() -> None:
    error = pickle.loads(pickle.dumps(KeywordError("Model 'a' has no keyword 'b'.", "b")))
    assert (str(error), error.keyword) == ("Model 'a' has no keyword 'b'.", "b")
