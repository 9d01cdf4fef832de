"""Pictures with captions from Python: kept together, read by the model's preprocessing, trained."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import zoo
from zoo import DataError
from zoo.data import GivenData, open_given

SPEC = zoo.info("caption-rnn-tiny")
PICTURES = [np.full((12, 12, 3), 20 * place, np.uint8) for place in range(10)]
for place, each in enumerate(PICTURES):
    each[place, :, 0] = 255


@pytest.fixture(autouse=True)
def _offline(offline: None) -> None:
    """Keep the cache apart."""


def opened(train: Any, **parts: Any) -> Any:
    return open_given(GivenData({"train": train} | parts), SPEC, tokenizer="byte")


def test_captions_of_one_picture_stay_together_and_each_is_trained_on() -> None:
    pairs: list[Any] = [(each, f"picture {place}") for place, each in enumerate(PICTURES)]
    pairs += [(PICTURES[0].copy(), "the first"), (PICTURES[1], ["the second", "picture 1"])]
    corpus = opened(pairs)
    items = [item for part in corpus.parts.values() for item in part]
    assert len(items) == len(PICTURES)
    assert sorted(len(item.texts) for item in items) == [1] * 8 + [2, 2]
    assert corpus.sizes["train"] == sum(len(item.texts) for item in corpus.parts["train"])


def test_images_arrays_tensors_and_paths_are_the_same_pictures(tmp_path: Path) -> None:
    def read(change: Any) -> dict[str, torch.Tensor]:
        corpus = opened([(change(each, place), f"is {place}") for place, each in enumerate(PICTURES)])
        found = {part: corpus.pictures[part].read(range(len(items)))[0] for part, items in corpus.parts.items()}
        return {item.texts[0]: found[part][k] for part, items in corpus.parts.items() for k, item in enumerate(items)}

    def saved(each: Any, place: int) -> str:
        Image.fromarray(each).save(tmp_path / f"{place}.png")
        return str(tmp_path / f"{place}.png")

    arrays = read(lambda each, place: each)
    assert len(arrays) == len(PICTURES)
    for change in (saved, lambda each, _: Image.fromarray(each), lambda each, _: torch.tensor(each).movedim(2, 0)):
        assert all(torch.equal(pixels, arrays[text]) for text, pixels in read(change).items())


def test_the_test_that_is_given_is_kept() -> None:
    pairs = [(each, "one") for each in PICTURES]
    corpus = opened(pairs[:8], test=pairs[8:])
    assert len(corpus.parts["test"]) == 2
    assert opened(pairs[:8]).fingerprint != opened(pairs[1:9]).fingerprint


@pytest.mark.parametrize(
    ("pair", "text"),
    [
        ((PICTURES[0], 5), r"train\[0\]: the caption is int 5; a text, or a list of texts, is wanted"),
        ((PICTURES[0], ["one", ""]), "the caption is a list of 2"),
        (("/none.png", "one"), r"train\[0\]: there is no file '/none.png'"),
        ((7, "one"), "the picture is int 7; a path, an image or its pixels are wanted"),
        ("one", "a pair .input, target. is wanted"),
    ],
)
def test_what_is_no_picture_with_a_caption(pair: Any, text: str) -> None:
    with pytest.raises(DataError, match=text):
        opened([pair, (PICTURES[1], "two")])


def test_paths_among_pictures_are_refused(tmp_path: Path) -> None:
    Image.fromarray(PICTURES[0]).save(tmp_path / "a.png")
    with pytest.raises(DataError, match=r"train\[1\] is a path, train\[0\] a picture: give all as paths"):
        opened([(PICTURES[0], "one"), (tmp_path / "a.png", "two")])


def test_a_captioner_is_trained_on_them() -> None:
    train = [(each, "a picture") for each in PICTURES]
    trained = zoo.train("caption-rnn-tiny", train, steps=1, batch_size=2, validations=1, tokenizer="byte", dim=8)
    assert "BLEU" in trained.scores
