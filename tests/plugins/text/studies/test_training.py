from collections.abc import Iterator
from typing import Any

import pytest
from torch import nn

from zoo.errors import ConfigError
from zoo.plugins.text.data.synthetic import dates
from zoo.plugins.text.studies import training
from zoo.plugins.text.studies.training import STUDENT, distilled, opened, train

TINY = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(dates, "SIZES", (40, 8, 12))
    monkeypatch.setattr(training, "SIZES", TINY)
    for cached in (training.opened, training.taught):
        cached.cache_clear()
    yield
    for cached in (training.opened, training.taught):
        cached.cache_clear()


def test_every_model_is_trained_and_timed() -> None:
    for variant in ("autoregressive", "non-autoregressive"):
        found = train({"data": "dates", "variant": variant, "seed": 0, "steps": 1, "batch_size": 8})
        assert 0 <= found["exact match"] <= 1
        assert all(found[name] > 0 for name in ("one", "batch", "seconds", "parameters"))
    with pytest.raises(ConfigError, match="variant='other'"):
        train({"data": "dates", "variant": "other", "seed": 0, "steps": 1, "batch_size": 8})


class Teacher(nn.Module):
    """Write the first style of each date."""

    def __init__(self, corpus: Any) -> None:
        super().__init__()
        self.corpus = corpus

    def generate(self, ids: Any, lengths: Any, max_len: int) -> "Teacher":
        tokenizer = self.corpus.tokenizer
        sources = [tokenizer.decode(row[: length - 1]) for row, length in zip(ids, lengths.tolist(), strict=True)]
        self.written = [tokenizer.rows([dates.styles(text)[0]])[0] for text in sources]
        return self

    def best(self) -> list[list[int]]:
        return self.written


def test_distillation_replaces_the_training_texts_alone() -> None:
    corpus = opened("dates", STUDENT)
    found = distilled(corpus, Teacher(corpus))
    assert [pair.target for pair in found.parts["train"]] == [
        dates.styles(pair.source)[0] for pair in corpus.parts["train"]
    ]
    assert found.parts["test"] == corpus.parts["test"]
    assert found.fingerprint != corpus.fingerprint
    assert type(found) is type(corpus)
