import json
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import ks_2samp

import zoo
from zoo.data.corpus import open_corpus
from zoo.errors import DataError
from zoo.plugins.graph.descriptions import open_descriptions
from zoo.plugins.graph.descriptions.grammar import Described, draw_graphs

JOINED = zoo.info("joined:graph-tiny+transformer-tiny")


def opened(data: str) -> Any:
    return open_corpus(data, JOINED, tokenizer="byte")


def test_drawn_graphs_are_a_source_whose_parts_share_no_description(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_descriptions, "SIZES", (40, 10, 20))
    corpus = open_corpus("described-graphs", JOINED)
    assert corpus.sizes == {"train": 40, "validation": 10, "test": 20}
    texts = [{each.text for each in part} for part in corpus.parts.values()]  # type: ignore[attr-defined]
    assert len(set.union(*texts)) == 70
    assert corpus.overrides()["node_features"] == [4]


def test_parts_of_drawn_graphs_have_as_many_short_descriptions(monkeypatch: pytest.MonkeyPatch) -> None:
    def growing(count: int, seed: int) -> list[Described]:
        """Draw graphs as if the small ones were soon used up."""
        return sorted(draw_graphs(count, seed), key=lambda each: len(each.text))

    monkeypatch.setattr(open_descriptions, "SIZES", (150, 30, 60))
    monkeypatch.setattr(open_descriptions, "draw_graphs", growing)
    parts: Any = open_corpus("described-graphs", JOINED)
    train, *held = ([len(each.text) for each in parts.parts[part]] for part in ("train", "validation", "test"))
    assert ks_2samp(train, held[0] + held[1]).statistic < 0.25  # else 1


def test_lines_of_json_with_texts(tmp_path: Path) -> None:
    rows = [{"edges": [[0, n], [n, 0]], "x": [[1.0]] * (n + 1), "text": f"{n} apart"} for n in range(1, 20)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    corpus = opened(f"described-graphs:{tmp_path}/a.jsonl")
    assert sum(corpus.sizes.values()) == 19
    assert corpus.overrides()["node_features"] == 1
    for part in corpus.parts.values():
        assert all(len(each.graph.x) == int(each.text.split()[0]) + 1 for each in part)


def test_molecules_with_texts(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    rows = "".join(f"{'C' * n},{n} carbons\n" for n in range(1, 12))
    (tmp_path / "a.csv").write_text(f"smiles,text\n{rows}")
    corpus = opened(f"described-graphs:{tmp_path}/a.csv")
    assert sum(corpus.sizes.values()) == 11
    assert len(corpus.overrides()["node_features"]) == 9
    (tmp_path / "a.csv").write_text("smiles,name\nC,methane\n")
    with pytest.raises(DataError, match="no text"):
        opened(f"described-graphs:{tmp_path}/a.csv")
    (tmp_path / "a.csv").write_text("smiles,text\nC(,broken\n")
    with pytest.raises(DataError, match=r"a\.csv:2: "):
        opened(f"described-graphs:{tmp_path}/a.csv")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"edges": [[0, 1]]}', "text=None"),
        ('{"edges": [[0, 1]], "text": " "}', "needs a text"),
        ('{"text": "a"}', "it needs edges"),
        ("[", "no JSON"),
    ],
)
def test_lines_that_cannot_be_read_are_named(tmp_path: Path, line: str, told: str) -> None:
    (tmp_path / "a.jsonl").write_text(line)
    with pytest.raises(DataError, match=told):
        opened(f"described-graphs:{tmp_path}/a.jsonl")


def test_files_of_another_kind(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none of \.jsonl"):
        opened(f"described-graphs:{tmp_path}/a.txt")
    with pytest.raises(DataError, match="no such file"):
        opened(f"described-graphs:{tmp_path}/a.jsonl")
