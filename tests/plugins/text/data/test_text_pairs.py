from typing import Any

import pytest

import zoo
from zoo import DataError
from zoo.data import GivenData, open_given

TEXTS = [f"{'good' if place % 2 else 'bad'} film {place}" for place in range(24)]
LABELS = ["good" if place % 2 else "bad" for place in range(24)]


@pytest.fixture(autouse=True)
def _offline(offline: None) -> None:
    """Keep the cache apart."""


def opened(model: str, train: Any, task: str = "", **parts: Any) -> Any:
    spec = zoo.info(model).with_config(**({"task": task} if task else {}))
    return open_given(GivenData({"train": train} | parts), spec, tokenizer="byte")


def test_texts_with_labels_are_classified_for_every_encoder() -> None:
    corpus = opened("bert-tiny", [*zip(TEXTS, LABELS, strict=True)], "classify")
    assert (corpus.task, corpus.labels, sum(corpus.sizes.values())) == ("classify", ["bad", "good"], 24)


def test_words_with_labels_are_tagged() -> None:
    corpus = opened("bert-tiny", [(text.split(), [7, 8, 9]) for text in TEXTS], "tag")
    assert (corpus.task, corpus.labels) == ("tag", ["7", "8", "9"])


def test_texts_alone_are_for_decoders_and_for_masked_tokens() -> None:
    assert opened("decoder-tiny", TEXTS).task == "generate"
    assert opened("bert-tiny", TEXTS, "masked-token").task == "masked-token"


def test_pairs_of_texts_are_for_models_that_write() -> None:
    for model in ("transformer-tiny", "decoder-tiny"):
        corpus = opened(model, [(text, text[::-1]) for text in TEXTS], validation=[("one", "eno"), ("two", "owt")])
        assert corpus.metric == "BLEU"
        assert corpus.sizes["validation"] == 2


@pytest.mark.parametrize(
    ("model", "train", "error"),
    [
        ("transformer-tiny", TEXTS, r"train\[0\] is str 'bad film 0': a pair \(input, target\) is wanted"),
        ("transformer-tiny", [(text, 3) for text in TEXTS], r"train\[0\]: the target is int 3; a text is wanted"),
        ("bert-tiny", TEXTS, r"a pair \(text, label\) is wanted, or task='masked-token'"),
        ("bert-tiny", [(text, 0.5) for text in TEXTS], r"train\[0\]: the label is float 0.5; a name or a whole"),
        ("bert-tiny", [(5, 1)], r"train\[0\]: the text is int 5; a text is wanted"),
        (
            "bert-tiny",
            [(["a", "b"], ["x"])],
            r"train\[0\]: the labels are a list of 1 \(str\); one for each of 2 words",
        ),
    ],
)
def test_items_that_a_model_cannot_learn_from(model: str, train: Any, error: str) -> None:
    with pytest.raises(DataError, match=error):
        opened(model, train)
