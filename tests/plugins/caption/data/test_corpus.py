from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

import zoo
from zoo.core import IGNORED
from zoo.data import DatasetInfo
from zoo.plugins.caption.data.corpus import UNSEEN, CaptionCorpus, Captioned
from zoo.plugins.caption.data.scenes import Box
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer

BOX, OTHER = Box(0.0, 0.0, 0.5, 0.5), Box(0.5, 0.5, 1.0, 1.0)
ITEM = Captioned(
    np.arange(192, dtype=np.uint8).reshape(8, 8, 3),
    ("a red three above it", "another text"),
    (None, BOX, BOX, None, OTHER),
)
SPEC = zoo.info("caption-rnn-tiny").with_config(image_size=8, dim=16)


def corpus(tokenizer: str = "word", parts: Any = None) -> CaptionCorpus:
    held = parts or {
        key: [ITEM, ITEM._replace(texts=("it",), boxes=(BOX,))] for key in ("train", "validation", "test", UNSEEN)
    }
    chosen = choose_tokenizer(tokenizer, "", [text for item in held["train"] for text in item.texts])
    return CaptionCorpus(DatasetInfo("x", "x", "x"), SPEC, chosen, held, metric="exact match")


class Writer(torch.nn.Module):
    """Writes what it is told."""

    max_len = None

    def __init__(self, rows: Sequence[Sequence[int]]) -> None:
        super().__init__()
        self.rows = list(rows)

    def generate(self, images: torch.Tensor, max_len: int) -> Any:
        rows = [self.rows.pop(0) for _ in images]
        return type("Generated", (), {"best": lambda self: rows})()


def test_each_caption_is_trained_on_and_each_picture_judged_once() -> None:
    data = corpus()
    assert data.sizes == {"train": 3, "validation": 2, "test": 2, UNSEEN: 2}
    batch = data.examples("train", [0, 1], None)
    images, ids = batch.inputs
    assert images.shape == (2, 3, 8, 8)
    assert (ids[:, 1:] == batch.target[:, :-1])[batch.target[:, :-1] != IGNORED].sum() > 0
    assert data.tokenizer.decode(batch.target[1][batch.target[1] != IGNORED]) == "another text"


@pytest.mark.parametrize("tokenizer", ["word", "char", "byte"])
def test_each_token_has_the_place_of_its_word(tokenizer: str) -> None:
    data = corpus(tokenizer)
    row, boxes = data.targets["test"][0], data.boxes("test", 0)
    assert len(boxes) == len(row) - 1
    named = "".join(data.tokenizer.decode([token]) for token, box in zip(row[1:], boxes, strict=True) if box == BOX)
    assert named.replace(" ", "") == "redthree"
    assert [box for box in boxes if box == OTHER] == [OTHER] * (1 if tokenizer == "word" else 2)
    assert boxes[-1] is None  # END


def test_any_caption_of_a_picture_is_right() -> None:
    data = corpus()
    encoded = {text: data.tokenizer.encode(text)[0][0].tolist() for text in ("another text", "it", "red it")}
    places = [place for batch in data.places("test", 5) for place in batch]
    right = {0: "another text", 1: "it"}
    found = data.judged(Writer([encoded[right[place]] for place in places]), "test", 5)
    assert found["exact match"] == 1
    assert next(iter(found)) == "exact match"
    wrong = {0: "red it", 1: "it"}
    assert data.judged(Writer([encoded[wrong[place]] for place in places]), "test", 5)["exact match"] == 0.5


def test_the_test_is_scored_with_unseen_pairs_and_the_validation_without() -> None:
    data = corpus()
    model = zoo.create("caption-rnn-tiny", **dict(SPEC.config) | data.overrides()).eval()
    validation, test = data.score(model, "validation", 2), data.score(model, "test", 2)
    assert set(data.metrics(model)) <= set(validation)
    assert {name for name in test if name.endswith("unseen pairs")} == {
        "exact match of unseen pairs", "BLEU of unseen pairs", "pointing of unseen pairs",
    }  # fmt: skip
    assert 0 < validation["pointing"] < 1


def test_a_picture_that_cannot_be_read_asks_for_nothing_and_is_named(tmp_path: Any) -> None:
    from PIL import Image

    good, bad = tmp_path / "good.png", tmp_path / "bad.png"
    Image.new("RGB", (9, 9), "red").save(good)
    bad.write_bytes(good.read_bytes()[:40])
    data = corpus(
        parts={key: [Captioned(good, ("it",)), Captioned(bad, ("it",))] for key in ("train", "validation", "test")}
    )
    batch = data.examples("train", [0, 1], None)
    assert (batch.target[1] == IGNORED).all()
    assert (batch.target[0] != IGNORED).any()
    (note,) = data.notes
    assert "1 of 2 pictures are skipped" in note
    assert str(bad) in note
