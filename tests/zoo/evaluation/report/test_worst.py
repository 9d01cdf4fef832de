"""Examples of every kind of input, each drawn as what it is."""

from typing import Any

import pytest

import zoo
from zoo.evaluation.report.page import page


def judged(name: str, data: str, **sizes: Any) -> Any:
    corpus: Any = zoo.data.open_corpus(data, zoo.info(name).with_config(**sizes))
    fitting = {key: value for key, value in corpus.overrides().items() if zoo.info(name).config.get(key) != value}
    return zoo.evaluate(zoo.create(name, **(fitting | sizes)), corpus, samples=3, worst=2)


def test_pictures_are_shown_as_pictures() -> None:
    found = judged("vit-micro", "digits", image_size=8, patch_size=4, dim=16, depth=1, num_heads=2, mlp_dim=16)
    assert [shown.medium["kind"] for shown in found.worst if shown.medium] == ["picture", "picture"]
    assert found.worst[0].row["loss"] >= found.worst[1].row["loss"] >= max(found.judge.losses()[5:8]) - 9
    assert page(found).count("<img class=picture") == 2


def test_graphs_are_drawn_and_their_items_are_nodes_or_graphs() -> None:
    found = judged("graph-tiny", "drawn-graphs:triangle?count=60", depth=1)
    assert {shown.medium["kind"] for shown in found.worst if shown.medium} == {"graph"}
    assert "<svg class=graph" in page(found)
    one = judged("graph-tiny", "karate", depth=1)
    assert len({item.place for item in one.judge.items}) == 1  # nodes of one graph
    assert one.count > 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "data", "score", "shown"),
    [
        ("caption-tiny", "captions", "chrF", "picture"),
        ("speech-tiny", "spoken-digits", "macro F1", "sound"),
    ],
)
def test_every_kind_of_model_is_judged(name: str, data: str, score: str, shown: str) -> None:
    found = judged(name, data)
    assert score in found.scores
    assert {each.medium["kind"] if each.medium else "text" for each in found.worst} == {shown}
