from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import zoo
from zoo.core.losses.loss import IGNORED
from zoo.errors import DataError
from zoo.plugins.graph.data.published_datasets import open_planetoid, open_ppi, open_zinc

Write = Callable[[Path, str], torch.Tensor]
SPEC = zoo.info("gat-cora")


def test_citations_are_read_with_their_split_and_words_that_sum_to_one(write_planetoid: Write, tmp_path: Path) -> None:
    y = write_planetoid(tmp_path, "cora")
    corpus = open_planetoid(f"cora:{tmp_path}", SPEC, 0, "")
    counts = [int((corpus.parts[part][0].target != IGNORED).sum()) for part in corpus.parts]
    assert counts == [6, 500, 20]
    graph = corpus.parts["train"][0].graph
    assert torch.allclose(graph.x.sum(1), torch.ones(len(y)))
    target = torch.stack([corpus.parts[part][0].target for part in corpus.parts]).max(0).values
    assert torch.equal(target[target != IGNORED], y[target != IGNORED])


def test_the_folder_of_pytorch_geometric_is_understood(write_planetoid: Write, tmp_path: Path) -> None:
    folder = tmp_path / "Cora" / "raw"
    folder.mkdir(parents=True)
    write_planetoid(folder, "cora")
    assert open_planetoid(f"cora:{tmp_path}", SPEC, 0, "").name == "cora"


@pytest.mark.parametrize(
    ("argument", "said"),
    [("reddit:x", "one of cora, citeseer, pubmed"), ("cora:nowhere", "has no ind.cora.x, .*put the published files")],
)
def test_unknown_names_and_missing_files_are_told_and_nothing_is_downloaded(argument: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        open_planetoid(argument, SPEC, 0, "")


def test_broken_files_are_told(write_planetoid: Write, tmp_path: Path) -> None:
    write_planetoid(tmp_path, "cora")
    (tmp_path / "ind.cora.allx").write_bytes(b"no pickle")
    with pytest.raises(DataError, match="cannot be read: UnpicklingError"):
        open_planetoid(f"cora:{tmp_path}", SPEC, 0, "")


def test_proteins_have_any_of_the_labels_and_whole_graphs_are_held_out(
    write_ppi: Callable[[Path], None], tmp_path: Path
) -> None:
    write_ppi(tmp_path)
    corpus = open_ppi(str(tmp_path), zoo.info("graph-tiny"), 0, "")
    assert corpus.sizes == {"train": 2, "validation": 2, "test": 2}
    assert corpus.metric == "f1"
    assert [tuple(each.target.shape) for each in corpus.parts["test"]] == [(4, 2), (3, 2)]
    assert zoo.train("graph-tiny", corpus, steps=1, depth=1).scores.keys() >= {"f1", "roc-auc"}


def test_zinc_asks_for_a_number_of_each_molecule(write_zinc: Callable[[Path], None], tmp_path: Path) -> None:
    write_zinc(tmp_path)
    corpus = open_zinc(str(tmp_path), zoo.info("graph-tiny"), 0, "")
    assert corpus.sizes == {"train": 2, "validation": 2, "test": 2}
    example = corpus.parts["train"][0]
    assert example.graph.edge_attr is not None
    assert example.graph.edge_attr.flatten().tolist() == [1, 1, 2, 2]
    assert next(iter(zoo.train("graph-tiny", corpus, steps=1, depth=1).scores)) == "mae"
