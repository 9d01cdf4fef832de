"""The data of a run, as each model reads them."""

from typing import Any

import pytest

from zoo.bench.learning_curve import run
from zoo.bench.learning_curve.run import Corpora
from zoo.data.corpus import Corpus
from zoo.errors import DataError
from zoo.spec import ModelSpec


@pytest.mark.parametrize(
    ("model", "image_size", "asked"),
    [
        ("bert-tiny", None, {}),
        ("graph-tiny", None, {}),
        ("speech-tiny", None, {}),
        ("vit-micro", None, {"image_size": None}),
        ("resnet-micro", None, {"image_size": None}),
        ("vit-micro", 32, {"image_size": 32}),
        ("bert-tiny", 32, {"image_size": 32}),
    ],
)
def test_only_images_are_asked_for_their_own_size(
    model: str, image_size: int | None, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    specs: list[ModelSpec] = []

    def note(text: str, spec: ModelSpec, seed: int) -> Corpus:
        specs.append(spec)
        raise DataError("no data")

    monkeypatch.setattr(run, "open_corpus", note)
    with pytest.raises(DataError, match="no data"):
        Corpora("data", image_size).of(model)
    (spec,) = specs
    assert {key: value for key, value in spec.config.items() if key == "image_size"} == asked
