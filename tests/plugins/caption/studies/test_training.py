from collections.abc import Iterator
from pathlib import Path

import pytest

from zoo.plugins.caption.data import open_captions
from zoo.plugins.caption.data.corpus import UNSEEN
from zoo.plugins.caption.studies import training
from zoo.plugins.caption.studies.study import STUDY


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(open_captions, "SIZES", {"train": 16, "validation": 4, "test": 12, UNSEEN: 4})
    _forget()
    yield
    _forget()


def _forget() -> None:
    open_captions._drawn.cache_clear()
    training.scenes.cache_clear()


@pytest.mark.slow
def test_the_study_trains_its_variants_and_draws_where_they_look(tmp_path: Path) -> None:
    records = STUDY.run(tmp_path, variants="hard,transformer", steps=1, seeds=1, workers=0, progress=False)
    assert [record["config"]["variant"] for record in records] == ["hard", "transformer"]
    assert {"scores.csv", "captions.png", "report.md"} <= {path.name for path in tmp_path.iterdir()}
    for record in records:
        assert 0 < record["seen"]["pointing"] < 1
        for shown in record["shown"]:
            assert len(shown["weights"]) >= len(shown["words"])
            assert all(len(row) == 25 for row in shown["weights"])
            assert len(shown["wanted"].split()) >= 7  # two things and what lies between them
