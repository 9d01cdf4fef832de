import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch

import zoo
from zoo.data import cache_folder
from zoo.errors import DataError
from zoo.plugins.graph.data.corpus import GraphsCorpus
from zoo.plugins.graph.data.storage.graph_files import TableFile
from zoo.plugins.graph.data.user_files import open_graphs
from zoo.plugins.graph.io.json_lines import of_line
from zoo.plugins.graph.io.preprocess import packed
from zoo.plugins.graph.io.smiles import of_smiles

pytestmark = pytest.mark.usefixtures("cache")

SPEC = zoo.info("graph-tiny")
TRIANGLE = {"edges": [[0, 1], [1, 2], [2, 0]], "x": [[0.5, 1], [0, 2], [3, 4]]}


def write(path: Path, rows: list[Any]) -> str:
    """Write a row in each line, graphs as different ones."""
    named = (row if isinstance(row, str) else json.dumps(row | {"id": place}) for place, row in enumerate(rows))
    path.write_text("".join(f"{row}\n" for row in named))
    return str(path)


def lines(**asked: Any) -> list[Any]:
    return [TRIANGLE | asked for _ in range(6)]


def test_lines_of_json_are_graphs_with_features_and_a_label(tmp_path: Path) -> None:
    rows = [TRIANGLE | {"label": label} for label in "abcabc"]
    corpus = open_graphs(write(tmp_path / "graphs.jsonl", rows), SPEC, 0, "")
    assert corpus.labels == ["a", "b", "c"]
    assert corpus.overrides() == {"num_classes": 3, "node_features": 2, "edge_features": 0}
    example = corpus.parts["train"][0]
    assert example.graph.edge_index.tolist() == [[0, 1, 2], [1, 2, 0]]
    assert sum(corpus.sizes.values()) == 6


def test_a_folder_is_opened_by_its_manifest(tmp_path: Path) -> None:
    write(tmp_path / "graphs.jsonl", lines(target=1.5))
    corpus = open_graphs(str(tmp_path), SPEC, 0, "")
    assert corpus.graph_task.target == "numbers"
    assert corpus.parts["test"][0].target.tolist() == [1.5]


def test_labels_are_any_of_those_there_are(tmp_path: Path) -> None:
    rows = [*lines(labels=["toxic"]), *lines(labels=[]), *lines(labels=["toxic", "sweet"])]
    corpus = open_graphs(write(tmp_path / "graphs.jsonl", rows), SPEC, 0, "")
    assert corpus.labels == ["sweet", "toxic"]
    targets = [example.target.tolist() for part in corpus.parts.values() for example in part]
    assert sorted(targets) == [[0, 0]] * 6 + [[0, 1]] * 6 + [[1, 1]] * 6


def test_graphs_without_features_have_as_many_nodes_as_edges_name_or_as_is_said(tmp_path: Path) -> None:
    rows = [{"edges": [[0, 3]], "target": 1}] * 4 + [{"edges": [], "nodes": 2, "target": 1}] * 4
    corpus = open_graphs(write(tmp_path / "graphs.jsonl", rows), SPEC, 0, "")
    counts = sorted(len(example.graph.x) for part in corpus.parts.values() for example in part)
    assert counts == [2] * 4 + [4] * 4


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{", "no JSON"),
        ({"label": "a"}, "it needs edges and one of label, labels, target"),
        (TRIANGLE | {"edges": [[0, 7]], "label": "a"}, r"\(0, 7\), and there are 3 nodes"),
        (TRIANGLE | {"edge_attr": [[1]], "label": "a"}, "one row for each edge"),
        (TRIANGLE | {"x": [[1], [1, 2]], "label": "a"}, "is no table of numbers"),
        ({"edges": [], "label": "a"}, "no nodes"),
        (TRIANGLE | {"x": [[float("nan"), 1]] * 3, "label": "a"}, "not finite"),
        (
            TRIANGLE | {"edges": [[0, 1, 2], [1, 2, 0]], "label": "a"},
            r"edges of shape \(2, 3\) are not .*: transpose them$",
        ),
        (
            TRIANGLE | {"edges": [[[0, 1]], [[1, 2]]], "label": "a"},
            r"shape \(2, 1, 2\) are not \[\[source, target\], …\]$",
        ),
        (TRIANGLE | {"edges": [0, 1], "label": "a"}, r"shape \(2,\) are not"),
        (TRIANGLE | {"edges": [[0, 1], [1, 1.9]], "label": "a"}, r"edges name \[1, 1.9\], and nodes are whole numbers"),
        (TRIANGLE | {"edges": [[0, 1], [True, 0]], "label": "a"}, r"edges name \[True, 0\], and nodes are whole"),
        (TRIANGLE | {"edges": [[0, 10**30]], "label": "a"}, "is no table of numbers"),
        (TRIANGLE | {"edges": None, "label": "a"}, "is no table of numbers"),
        ({"edges": [[-5, -2]], "label": "a"}, r"edges\[:, 0\] is \(-5, -2\), and there are no nodes"),
        ({"edges": [], "nodes": "abc", "label": "a"}, "nodes='abc' is no number of nodes"),
        ({"edges": [], "nodes": 10**30, "label": "a"}, "nodes=1000000000000000000000000000000 is no number of nodes"),
        ({"edges": [], "nodes": None, "label": "a"}, "nodes=None is no number of nodes"),
        ({"edges": [], "nodes": -3, "label": "a"}, "nodes=-3 is no number of nodes"),
        ({"edges": [[0, 4]], "nodes": 4, "label": "a"}, r"\(0, 4\), and there are 4 nodes"),
        (TRIANGLE | {"x": 3, "label": "a"}, "x=3 is no table: one row for each"),
        (TRIANGLE | {"nodes": 5, "label": "a"}, "nodes=5, and x has 3 rows"),
        (TRIANGLE | {"label": None}, "None is no label"),
        (TRIANGLE | {"label": ""}, "'' is no label"),
        (TRIANGLE | {"label": float("nan")}, "nan is no label"),
        (TRIANGLE | {"label": ["a"]}, r"\['a'\] is no label"),
    ],
)
def test_what_is_no_graph_is_named_and_left_out(tmp_path: Path, row: Any, said: str) -> None:
    rows = [TRIANGLE | {"label": label} for label in "abab"]
    path = write(tmp_path / "graphs.jsonl", [*rows, row])
    with pytest.warns(UserWarning, match=f"1 of 5 graphs are skipped:\n  line 5: .*{said}"):
        assert sum(open_graphs(path, SPEC, 0, "").sizes.values()) == 4


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"labels": ["a", None]}, "None is no label"),
        ({"target": float("inf")}, r"\[inf\] are not finite"),
        ({"target": [1e300]}, r"\[1e\+300\] are not finite"),
        ({"target": 10**400}, "are no numbers"),
    ],
)
def test_what_cannot_be_asked_is_named_and_left_out(tmp_path: Path, asked: dict[str, Any], said: str) -> None:
    (key,) = asked
    rows = [*lines(**{key: ["a", "b"] if key == "labels" else 1.5}), TRIANGLE | asked]
    with pytest.warns(UserWarning, match=f"1 of 7 graphs are skipped:\n  line 7: .*{said}"):
        assert sum(open_graphs(write(tmp_path / "graphs.jsonl", rows), SPEC, 0, "").sizes.values()) == 6


@pytest.mark.parametrize("empty", [{"edge_attr": []}, {}])
def test_a_graph_without_edges_has_none_of_the_features_that_edges_of_others_have(
    tmp_path: Path, empty: dict[str, Any]
) -> None:
    alone = {"edges": [], "x": [[1, 2]], "target": 2} | empty
    rows = [alone, *lines(target=1.5, edge_attr=[[1, 2], [3, 4], [5, 6]])]
    corpus = open_graphs(write(tmp_path / "graphs.jsonl", rows), SPEC, 0, "")
    assert corpus.overrides()["edge_features"] == 2
    (found,) = [each.graph for part in corpus.parts.values() for each in part if not each.graph.edge_index.numel()]
    assert found.edge_attr is not None
    assert found.edge_attr.shape == (0, 2)


def test_graphs_that_are_all_without_edges_have_no_features_of_them(tmp_path: Path) -> None:
    rows = [{"edges": [], "nodes": 2, "edge_attr": [], "target": 1}] * 4 + [{"edges": [], "nodes": 3, "target": 1}] * 4
    assert open_graphs(write(tmp_path / "graphs.jsonl", rows), SPEC, 0, "").overrides()["edge_features"] == 0


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"x": [[1], [2], [3]]}, r"nodes have \[1, 2\] features, edges \[0\]"),
        ({"edge_attr": [1, 2, 3]}, r"nodes have \[2\] features, edges \[0, 1\]"),
    ],
)
def test_graphs_with_different_features_are_refused(tmp_path: Path, other: dict[str, Any], said: str) -> None:
    path = write(tmp_path / "graphs.jsonl", [*lines(target=1), TRIANGLE | other | {"target": 1}])
    with pytest.raises(DataError, match=f"graphs.jsonl: {said}: give all graphs as many"):
        open_graphs(path, SPEC, 0, "")


def test_edges_of_two_by_two_are_two_edges(tmp_path: Path) -> None:
    rows = [{"edges": [[0, 1], [2, 3]], "target": 1}] * 4 + [{"edges": [[0, 3]], "target": 1}] * 4
    corpus = open_graphs(write(tmp_path / "graphs.jsonl", rows), SPEC, 0, "")
    found = {str(each.graph.edge_index.tolist()) for part in corpus.parts.values() for each in part}
    assert found == {"[[0, 2], [1, 3]]", "[[0], [3]]"}


def test_graphs_that_are_asked_different_things_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "graphs.jsonl", [TRIANGLE | {"label": "a"}, TRIANGLE | {"target": 1}])
    with pytest.raises(DataError, match=r"graphs.jsonl asks for label and target"):
        open_graphs(path, SPEC, 0, "")


def test_a_pickle_is_not_opened(tmp_path: Path) -> None:
    torch.save([1], tmp_path / "graphs.pt")
    with pytest.raises(DataError, match=r"'.pt' is none of .jsonl, .csv, .tsv, and no pickle is opened"):
        open_graphs(str(tmp_path / "graphs.pt"), SPEC, 0, "")


SMILES = ["CCO", "c1ccccc1", "c1ccncc1", "C1CCCCC1", "c1ccoc1", "c1ccsc1", "C1CCCC1", "CCN", "CC", "C1CC1", "CO", "CN"]


def table(path: Path, header: str, cells: list[str]) -> str:
    return write(path, [header, *(f"{smiles},{cell}" for smiles, cell in zip(SMILES, cells, strict=True))])


@pytest.mark.parametrize(
    ("cells", "kind"),
    [(["0", "1", ""] * 4, "labels"), (["0.5", "1", "-2"] * 4, "numbers"), (["sweet", "sour", "sour"] * 4, "class")],
)
def test_a_table_of_smiles_says_by_its_cells_what_is_asked(tmp_path: Path, cells: list[str], kind: str) -> None:
    corpus = open_graphs(table(tmp_path / "some.csv", "SMILES,taste", cells), SPEC, 0, "")
    assert corpus.graph_task.target == kind
    assert corpus.labels == (["sour", "sweet"] if kind == "class" else ["taste"])
    assert corpus.overrides().get("target", "class") == kind


def test_invalid_smiles_are_named_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    table(path, "smiles,mass", ["1.5"] * 12)
    path.write_text(path.read_text() + "C1CC,3\n,4\n")
    with pytest.warns(
        UserWarning, match="2 of 14 graphs are skipped:\n  line 14: 'C1CC' is no SMILES\n  line 15: '' has no atoms"
    ):
        corpus = open_graphs(str(path), SPEC, 0, "")
    assert sum(corpus.sizes.values()) == 12


@pytest.mark.parametrize(
    ("cells", "odd", "said", "kind"),
    [
        (["1.5"] * 12, "inf", r"\[inf\] are not finite", "numbers"),
        (["1.5"] * 12, "1e300", r"\[1e\+300\] are not finite", "numbers"),
        (["sweet", "sour"] * 6, "", "'' is no label", "class"),
    ],
)
def test_molecules_of_which_nothing_can_be_asked_are_named_and_counted(
    tmp_path: Path, cells: list[str], odd: str, said: str, kind: str
) -> None:
    path = tmp_path / "some.csv"
    table(path, "smiles,taste", cells)
    path.write_text(path.read_text() + f"CCCO,{odd}\n")
    with pytest.warns(UserWarning, match=f"1 of 13 graphs are skipped:\n  line 14: {said}"):
        corpus = open_graphs(str(path), SPEC, 0, "")
    assert corpus.graph_task.target == kind
    assert sum(corpus.sizes.values()) == 12
    assert corpus.labels == (["sour", "sweet"] if kind == "class" else ["taste"])


def test_columns_are_chosen_and_chance_parts_where_asked(tmp_path: Path) -> None:
    path = table(tmp_path / "some.csv", "smiles,mass,name", ["1.5,water"] * 12)
    with pytest.raises(DataError, match="target=COLUMN"):
        open_graphs(path, SPEC, 0, "")
    corpus = open_graphs(f"{path}?target=mass&split=random", SPEC, 0, "")
    assert corpus.labels == ["mass"]
    assert sum(corpus.sizes.values()) == 12
    assert all(corpus.sizes.values())


@pytest.mark.parametrize(
    ("header", "option", "said"),
    [
        ("name,mass", "", "none is smiles"),
        ("smiles,mass", "?target=size", "not all of target=size"),
        ("smiles", "", "has columns smiles, and no target beside the SMILES"),
        ("smiles,mass", "?split=chance", "split='chance' is not one of scaffold, random"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(tmp_path: Path, header: str, option: str, said: str) -> None:
    path = table(tmp_path / "some.csv", header, ["1.5"] * 12)
    with pytest.raises(DataError, match=said):
        open_graphs(path + option, SPEC, 0, "")


def parts_of(corpus: GraphsCorpus) -> dict[str, str]:
    """Give the part of each graph, by its atoms and target."""
    return {
        f"{each.graph.x[:, 0].tolist()} {each.target.tolist()}": name
        for name, part in corpus.parts.items()
        for each in part
    }


@pytest.mark.parametrize("split", ["random", "scaffold"])
def test_a_molecule_stays_in_its_part_when_others_come_or_go(split: str, tmp_path: Path) -> None:
    rings = [f"C{left}c1cc{core}cc1C{right}" for left in ("", "C", "N", "O") for core in "cn" for right in "FIOSN"]
    rings += [f"C1C{'C' * size}C1{link}C1C{'C' * other}C1" for size in range(6) for other in range(6) for link in "CO"]
    lines = [f"{text},{place}.5" for place, text in enumerate(rings)]
    before = parts_of(
        open_graphs(write(tmp_path / "some.csv", ["smiles,mass", *lines]) + f"?split={split}", SPEC, 0, "")
    )
    grown = [*lines[::2], "C1CCOC1,1000.5", "C1CCSC1CC,1001.5", *lines[1::2]]
    after = parts_of(
        open_graphs(write(tmp_path / "some.csv", ["smiles,mass", *grown]) + f"?split={split}", SPEC, 0, "")
    )
    assert len(before) == len(lines)
    assert len(after) == len(lines) + 2
    assert set(before.values()) == {"train", "validation", "test"}
    assert {key: after[key] for key in before} == before


def test_no_scaffold_is_tested_that_was_trained_on_and_molecules_without_rings_are_trained_on(tmp_path: Path) -> None:
    rings = [f"C1C{'C' * size}C1{'C' * tail}" for size in range(10) for tail in range(3)]
    lines = [f"{text},1.5" for text in [*rings, *("C" * count for count in range(1, 9))]]
    corpus = open_graphs(write(tmp_path / "some.csv", ["smiles,mass", *lines]), SPEC, 1, "")
    found = {}
    for name, part in corpus.parts.items():
        found[name] = {int(each.graph.x[:, 8].sum()) for each in part}  # atoms in rings
    assert 0 in found["train"]
    assert (
        not found["train"] & found["validation"] | found["train"] & found["test"] | found["validation"] & found["test"]
    )


def test_molecules_of_one_scaffold_cannot_be_parted(tmp_path: Path) -> None:
    path = write(tmp_path / "some.csv", ["smiles,mass", *(f"c1ccccc1{'C' * count},1.5" for count in range(9))])
    with pytest.raises(
        DataError,
        match=r"9 molecules with 1 different scaffolds .* own: graphs:FILE\?split=random parts them molecule",
    ):
        open_graphs(path, SPEC, 0, "")
    assert sum(open_graphs(f"{path}?split=random", SPEC, 0, "").sizes.values()) == 9


def test_equal_graphs_are_all_in_one_part(tmp_path: Path) -> None:
    graphs = [TRIANGLE | {"x": [[place], [0], [0]], "label": "aab"[place % 3]} for place in range(6)]
    rows = [line for line in map(json.dumps, graphs) for _ in range(5)]
    corpus = open_graphs(write(tmp_path / "graphs.jsonl", rows), SPEC, 0, "")
    found = [{float(each.graph.x[0, 0]) for each in part} for part in corpus.parts.values()]
    assert set.union(*found) == set(range(6))
    assert sum(map(len, found)) == 6


def test_too_few_graphs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has 2 examples, of which 2 differ; training, validation and test need"):
        open_graphs(write(tmp_path / "graphs.jsonl", lines(target=1)[:2]), SPEC, 0, "")


@pytest.mark.parametrize("kind", ["molecules", "lines"])
def test_a_batch_is_what_its_graphs_are_one_by_one(kind: str, tmp_path: Path) -> None:
    if kind == "molecules":
        graphs = [of_smiles(text) for text in SMILES]
        path = table(tmp_path / "some.csv", "smiles,mass", [f"{place}.5" for place in range(12)]) + "?split=random"
    else:
        rows = [
            json.dumps({"edges": [[0, n - 1], [n - 1, 0]], "x": [[k, n] for k in range(n)], "edge_attr": [n, 1.5]})
            for n in range(1, 13)
        ]
        graphs = [of_line(row) for row in rows]
        path = write(tmp_path / "graphs.jsonl", [json.loads(row) | {"target": k + 0.5} for k, row in enumerate(rows)])
    corpus = open_graphs(path, SPEC, 0, "")
    places = [2, 0, 3]
    given, targets = corpus.parts["train"].batch(places)
    chosen = [int(target - 0.5) for target in torch.stack(list(targets))]
    assert_equal(given, packed([graphs[place] for place in chosen]))
    (alone, _), one = corpus.parts["train"].batch([3]), corpus.parts["train"][3]
    assert alone[0] is one.graph.x
    assert_equal(alone[:3], graphs[int(one.target - 0.5)][:3])
    assert corpus.lengths["train"][3] == len(one.graph.x) + one.graph.edge_index.shape[1]


def assert_equal(given: tuple[Any, ...], wanted: tuple[Any, ...]) -> None:
    for one, other in zip(given, wanted, strict=True):
        assert one.dtype == other.dtype
        assert torch.equal(one, other)


def test_a_file_that_changes_is_read_again_and_another_target_does_not_read_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Any] = []
    read_row = TableFile.read

    def counted(self: TableFile, row: Any) -> Any:
        read.append(row)
        return read_row(self, row)

    monkeypatch.setattr(TableFile, "read", counted)
    path = table(tmp_path / "some.csv", "smiles,mass,size", ["1.5,2"] * 12)
    first = open_graphs(f"{path}?target=mass", SPEC, 0, "")
    assert open_graphs(f"{path}?target=mass", SPEC, 0, "").fingerprint == first.fingerprint
    assert open_graphs(f"{path}?target=size", SPEC, 0, "").fingerprint != first.fingerprint
    assert len(read) == 12
    table(tmp_path / "some.csv", "smiles,mass,size", ["1.75,2"] * 12)
    os.utime(path, ns=(1, 1))
    assert open_graphs(f"{path}?target=mass", SPEC, 0, "").fingerprint != first.fingerprint
    assert len(read) == 24
    folders = [each for each in (cache_folder() / "graphs").iterdir() if each.is_dir()]
    assert len(folders) == 1  # that of the file as it was is removed


def test_a_copy_of_a_file_is_the_same_data(tmp_path: Path) -> None:
    cells = ["0.5", "1", "-2"] * 4
    one, other = (open_graphs(table(tmp_path / name, "smiles,a", cells), SPEC, 0, "") for name in ("a.csv", "b.csv"))
    assert one.fingerprint == other.fingerprint


@pytest.mark.parametrize("content", [b"smiles,a\nCCO,\xff\n", b'smiles,a\nCCO,"1\n'])
def test_a_table_that_is_no_text_is_refused_by_name(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "some.csv").write_bytes(content)
    with pytest.raises(DataError, match=r"some\.csv"):
        open_graphs(str(tmp_path / "some.csv"), SPEC, 0, "")


def test_a_cache_that_cannot_be_written_says_what_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "file"))
    with pytest.raises(DataError, match=r"cannot be written: .*; set ZOO_CACHE to a folder that has room"):
        open_graphs(table(tmp_path / "some.csv", "smiles,a", ["0.5"] * 12), SPEC, 0, "")


@pytest.mark.parametrize("name", ["graphs.jsonl", "molecules.csv"])
def test_compressed_files_are_read_as_plain_ones_and_named_where_they_are_cut(name: str, tmp_path: Path) -> None:
    molecules = ["smiles,logp", *(f"{'C' * count},{count / 2}" for count in range(1, 30))]
    path = tmp_path / name
    write(path, lines(target=1.5) if name == "graphs.jsonl" else molecules)
    packed_path = tmp_path / f"{name}.gz"
    packed_path.write_bytes(gzip.compress(path.read_bytes()))
    one, other = (
        open_graphs(f"{each}{'?split=random' * (name[0] == 'm')}", SPEC, 0, "") for each in (path, packed_path)
    )
    assert one.sizes == other.sizes
    assert one.fingerprint == other.fingerprint
    packed_path.write_bytes(packed_path.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"\.gz' cannot be read: Compressed file ended before the end"):
        open_graphs(str(packed_path), SPEC, 0, "")
