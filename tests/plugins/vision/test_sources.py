import pytest

import zoo
from zoo.data.corpus import open_corpus
from zoo.errors import DataError
from zoo.plugins.vision.sources import SOURCES


def test_an_unknown_source_names_the_near_one() -> None:
    with pytest.raises(DataError, match=r"Unknown source \(card\)\. Did you mean 'cards'\?"):
        open_corpus("card", zoo.info("vit-micro"))


@pytest.mark.parametrize(("text", "usage"), [("folder", "folder:PATH"), ("cards:7", "cards")])
def test_an_argument_missing_or_not_taken(text: str, usage: str) -> None:
    with pytest.raises(DataError, match=f"data source '{text}': write '{usage}'"):
        open_corpus(text, zoo.info("vit-micro"))


def test_every_source_is_described() -> None:
    assert all(spec.description and spec.modality == "vision" for spec in SOURCES)
