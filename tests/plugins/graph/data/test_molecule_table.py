from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import zoo
from zoo import DataError
from zoo.data.corpus import open_corpus
from zoo.data.python.given import GivenData, open_given
from zoo.plugins.graph.data.corpus import GraphsCorpus

SPEC = zoo.info("graph-tiny")
RINGS = ("c1ccccc1", "C1CCCCC1", "c1ccncc1", "O", "C1CC1")
SMILES = [f"{'C' * count}{ring}" for count in range(1, 11) for ring in RINGS]
COUNT = len(SMILES)


def opened(data: str) -> GraphsCorpus:
    corpus = open_corpus(data, SPEC)
    assert isinstance(corpus, GraphsCorpus)
    return corpus


def targets(corpus: GraphsCorpus) -> list[list[float]]:
    return sorted(example.target.tolist() for part in corpus.parts.values() for example in part)


def test_numbers_are_predicted_as_they_are_and_lists_are_several(parquet: Any) -> None:
    path = parquet("a.parquet", smiles=SMILES, logp=[place / 2 for place in range(COUNT)], name=["x"] * COUNT)
    corpus = opened(f"parquet:{path}?draw=random")
    assert (corpus.graph_task.target, corpus.labels) == ("numbers", ["logp"])
    assert targets(corpus) == [[place / 2] for place in range(COUNT)]
    path = parquet("b.parquet", smiles=SMILES, y=[[place / 2, 0.5] for place in range(COUNT)])
    assert opened(f"parquet:{path}?draw=random").labels == ["y 0", "y 1"]
    path = parquet("c.parquet", smiles=SMILES, y=[[0.5] * (1 + place % 2) for place in range(COUNT)])
    with pytest.raises(DataError, match=r"lists in column 'y' have \[1, 2\] numbers: give all as many"):
        opened(f"parquet:{path}")


def test_zeros_and_ones_are_labels_and_names_are_classes(parquet: Any) -> None:
    import datasets

    path = parquet("a.parquet", smiles=SMILES, a=[place % 2 for place in range(COUNT)], b=[True] * COUNT)
    corpus = opened(f"parquet:{path}")
    assert (corpus.graph_task.target, corpus.labels) == ("labels", ["a", "b"])
    features = {"smiles": datasets.Value("string"), "y": datasets.ClassLabel(names=["toxic", "sweet"])}
    path = parquet("b.parquet", features, smiles=SMILES, y=[place % 2 for place in range(COUNT)])
    corpus = opened(f"parquet:{path}")
    assert (corpus.graph_task.target, corpus.labels) == ("class", ["sweet", "toxic"])
    path = parquet("c.parquet", smiles=SMILES, taste=["sweet", "sour"] * (COUNT // 2))
    assert opened(f"parquet:{path}?target=taste").labels == ["sour", "sweet"]


def test_parts_that_are_given_stay_and_scaffolds_are_drawn_for_the_others(parquet: Any, tmp_path: Path) -> None:
    parquet("train.parquet", smiles=SMILES[:40], y=[0.5] * 40)
    parquet("test.parquet", smiles=SMILES[40:], y=[1.5] * (COUNT - 40))
    corpus = opened(f"parquet:{tmp_path}/*.parquet")
    assert [example.target.tolist() for example in corpus.parts["test"]] == [[1.5]] * (COUNT - 40)
    assert corpus.sizes["train"] + corpus.sizes["validation"] == 40
    assert opened(f"parquet:{tmp_path}/train.parquet").fingerprint != corpus.fingerprint


def test_a_csv_is_read_as_by_the_source_of_graphs(tmp_path: Path, offline: None) -> None:
    (tmp_path / "a.csv").write_text("smiles,y\n" + "".join(f"{smiles},{len(smiles)}\n" for smiles in SMILES))
    one, other = opened(f"csv:{tmp_path}/a.csv?target=y"), opened(f"graphs:{tmp_path}/a.csv")
    assert one.sizes == other.sizes
    for part in one.parts:
        assert [each.target.tolist() for each in one.parts[part]] == [
            each.target.tolist() for each in other.parts[part]
        ]


def test_what_is_no_molecule_is_left_out_and_counted(parquet: Any) -> None:
    path = parquet("a.parquet", smiles=[*SMILES, "no", None], y=[0.5] * (COUNT + 2))
    with pytest.warns(UserWarning, match=r"2 of 52 graphs are skipped"):
        assert sum(opened(f"parquet:{path}").sizes.values()) == COUNT


@pytest.mark.parametrize(
    ("columns", "options", "error"),
    [
        ({"smiles": ["C"], "name": ["x"]}, "", r"has columns smiles \(text\), name \(text\): write \?target=COLUMN"),
        ({"smiles": ["C"], "y": [0.5]}, "target=z", r"has columns smiles \(text\), y \(number\), and no target z"),
        ({"a": ["C"], "b": ["C"]}, "", r"which one is smiles \(text\) is not clear: write \?smiles=COLUMN"),
        ({"smiles": ["C"], "y": [["a"]]}, "target=y", r"column 'y' holds list of text, which is no target"),
        ({"smiles": ["C"], "y": [0.5]}, "draw=all", r"draw='all' is not one of scaffold, random"),
    ],
)
def test_columns_that_do_not_fit_are_named(parquet: Any, columns: Any, options: str, error: str) -> None:
    with pytest.raises(DataError, match=error):
        opened(f"parquet:{parquet('a.parquet', **columns)}?{options}")


def test_molecules_of_too_few_scaffolds_are_told_what_their_data_take(parquet: Any) -> None:
    molecules = ["C" * count for count in range(1, 13)]
    numbers = [place / 2 for place in range(12)]
    with pytest.raises(DataError, match=r"of their own: \?draw=random parts them molecule by molecule$"):
        opened(f"parquet:{parquet('a.parquet', smiles=molecules, y=numbers)}")
    given = GivenData({"train": list(zip(molecules, numbers, strict=True))})
    with pytest.raises(DataError, match=r"of their own: columns=\{'draw': 'random'\} parts them molecule by molecule$"):
        open_given(given, SPEC)
    assert sum(open_given(replace(given, columns={"draw": "random"}), SPEC).sizes.values()) == 12
