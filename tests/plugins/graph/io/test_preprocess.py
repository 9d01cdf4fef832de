"""From graphs of many kinds to the tensors of one batch."""

from typing import Any

import networkx
import pytest
import torch
from torch_geometric.data import Batch, Data

import zoo
from zoo.errors import ConfigError, InputError
from zoo.plugins.graph.io.preprocess import Preprocess

INDEX = torch.tensor([[0, 1], [1, 2]])
DATA = Data(x=torch.randn(3, 2), edge_index=INDEX, edge_attr=torch.tensor([[1.0], [2.0]]))


def test_graphs_of_all_kinds_are_packed_together() -> None:
    network = networkx.DiGraph()
    network.add_node("a", x=[5.0, 6.0])
    network.add_node("b", x=[7.0, 8.0])
    network.add_edge("b", "a", edge_attr=3.0)
    tensors = DATA.x, INDEX, DATA.edge_attr
    both = Batch.from_data_list([DATA, DATA])
    x, index, attr, batch = Preprocess({"node_features": 2, "edge_features": 1})([network, tensors, both, DATA])
    assert batch.tolist() == [0] * 2 + [1] * 3 + [2] * 3 + [3] * 3 + [4] * 3
    assert x[:2].tolist() == [[5, 6], [7, 8]]
    torch.testing.assert_close(x[2:], torch.cat([DATA.x] * 4))
    assert index.tolist() == [[1, 2, 3, 5, 6, 8, 9, 11, 12], [0, 3, 4, 6, 7, 9, 10, 12, 13]]
    assert attr is not None
    assert attr[:, 0].tolist() == [3, 1, 2, 1, 2, 1, 2, 1, 2]


def test_graphs_are_packed_as_pytorch_geometric_does_which_forgets_the_graphs_of_a_batch_behind_a_graph() -> None:
    graphs = [
        Data(x=torch.randn(n, 2), edge_index=torch.randint(n, (2, n)), edge_attr=torch.randn(n, 1)) for n in (2, 5)
    ]
    prepare, both = Preprocess({"node_features": 2, "edge_features": 1}), Batch.from_data_list(graphs)
    for mine, true in zip(prepare(graphs), (both.x, both.edge_index, both.edge_attr, both.batch), strict=True):
        torch.testing.assert_close(mine, true, rtol=0, atol=0)
    assert prepare([graphs[0], both])[3].tolist() == [0] * 2 + [1] * 2 + [2] * 5
    assert Batch.from_data_list([graphs[0], both]).batch.tolist() == [0] * 2 + [1] * 7


def test_one_graph_is_a_batch_of_one() -> None:
    x, index, attr, batch = Preprocess({"node_features": 2})(DATA)
    assert torch.equal(x, DATA.x)
    assert torch.equal(index, INDEX)
    assert attr is None
    assert batch.tolist() == [0, 0, 0]


def test_a_model_reads_what_is_prepared_for_it() -> None:
    graphs = zoo.preprocess("graph-tiny")(["CCO", "c1ccccc1", "C"])
    model = zoo.create("graph-tiny", num_classes=2).eval()
    alone = torch.cat([model(*zoo.preprocess("graph-tiny")(text)) for text in ("CCO", "c1ccccc1", "C")])
    torch.testing.assert_close(model(*graphs), alone)


def test_what_cannot_be_read_is_named_counted_and_skipped() -> None:
    prepare: Any = zoo.preprocess("graph-tiny")
    with pytest.warns(UserWarning, match=r"2 of 4 graphs are skipped:\n  'C1CC': .*\n  'not': 'not' is no SMILES"):
        _, _, _, batch = prepare(["CC", "C1CC", "not", "O"], skip=True)
    assert batch.tolist() == [0, 0, 1]
    assert [each.place for each in prepare.skipped] == [1, 2]
    with pytest.raises(InputError, match="graph 1: 'C1CC' is no SMILES"):
        prepare(["CC", "C1CC"])
    with (
        pytest.warns(UserWarning, match="1 of 1 graphs"),
        pytest.raises(InputError, match="no graph can be read, of 1"),
    ):
        prepare(["C1CC"], skip=True)
    with pytest.raises(InputError, match="an empty list of graphs"):
        prepare([])


def test_whole_numbers_become_channels_where_a_model_reads_these() -> None:
    data = Data(x=torch.tensor([[1, 0], [0, 1], [1, 1]]), edge_index=INDEX, edge_attr=torch.tensor([4, 5]))
    x, _, attr, _ = Preprocess({"node_features": 2, "edge_features": 1})(data)
    assert x.dtype == torch.float32
    assert attr is not None
    assert attr.tolist() == [[4.0], [5.0]]


def test_whole_numbers_of_a_line_become_categories_where_a_model_reads_these() -> None:
    line = '{"edges": [[0, 1], [1, 0]], "x": [[3], [1]], "edge_attr": [[1], [0]]}'
    x, _, attr, _ = Preprocess({"node_features": [4], "edge_features": [2]})(line)
    assert x.tolist() == [[3], [1]]
    assert attr is not None
    assert not x.is_floating_point()
    assert not attr.is_floating_point()
    with pytest.raises(InputError, match="columns of categories"):
        Preprocess({"node_features": [4]})(line.replace("[3]", "[0.5]"))


@pytest.mark.parametrize(
    ("graph", "config", "text"),
    [
        (Data(x=DATA.x[:0], edge_index=INDEX[:, :0]), {"node_features": 2}, "a graph has no nodes"),
        (
            Data(x=DATA.x, edge_index=INDEX),
            {"node_features": 2, "edge_features": 1},
            "a graph has no features of edges",
        ),
        (Data(x=DATA.x, edge_index=INDEX + 1), {"node_features": 2}, r"edge_index\[:, 1\] is \(2, 3\)"),
        (DATA, {"node_features": 5}, r"x of shape \(3, 2\): the model reads 5 channels"),
        (DATA, {"node_features": [3, 3]}, "x is torch.float32, the model reads 2 columns of categories"),
        (7, {}, "int where graphs belong"),
    ],
)
def test_graphs_that_do_not_fit_are_refused(graph: object, config: dict[str, object], text: str) -> None:
    with pytest.raises(InputError, match=text):
        Preprocess(config)(graph)


def test_a_batch_with_an_empty_graph_is_refused() -> None:
    empty = Data(x=DATA.x[:0], edge_index=INDEX[:, :0])
    whole = Data(x=DATA.x, edge_index=INDEX)
    with pytest.raises(InputError, match="holds 2 graphs, of which some have no nodes"):
        Preprocess({"node_features": 2})(Batch.from_data_list([whole, empty]))


@pytest.mark.parametrize(("batch", "count"), [([0, 0, 2, 2], 3), ([1, 1, 2, 2], 3), ([10**9] * 4, 10**9 + 1)])
def test_graphs_of_tensors_are_not_counted_anew_where_one_has_no_nodes(batch: list[int], count: int) -> None:
    given = torch.randn(4, 2), torch.tensor([[0, 2], [1, 3]]), None, torch.tensor(batch)
    with pytest.raises(InputError, match=f"a graph holds {count} graphs, of which some have no nodes"):
        Preprocess({"node_features": 2})(given)


def test_pairs_are_counted_on_and_score_as_those_of_each_graph_alone() -> None:
    prepare = Preprocess({"node_features": 2})
    model = zoo.create("graph-tiny", node_features=2, edge_features=0, task="link").eval()
    one = Data(x=torch.randn(3, 2), edge_index=INDEX, edge_label_index=torch.tensor([[0, 2], [2, 1]]))
    other = Data(x=torch.randn(4, 2), edge_index=INDEX, edge_label_index=torch.tensor([[3], [0]]))
    given = prepare([one, other])
    assert given[4].tolist() == [[0, 2, 6], [2, 1, 3]]
    torch.testing.assert_close(model(*given), torch.cat([model(one), model(other)]))
    assert len(prepare([one, Data(x=one.x, edge_index=INDEX)])) == 4


def test_pairs_of_no_nodes_do_not_reach_into_the_next_graph() -> None:
    data = Data(x=DATA.x, edge_index=INDEX, edge_label_index=torch.tensor([[0], [3]]))
    with pytest.raises(InputError, match=r"graph 0: pairs\[:, 0\] is \(0, 3\), and there are 3 nodes"):
        Preprocess({"node_features": 2})([data, data])


def test_pairs_do_not_disturb_a_model_that_asks_for_none() -> None:
    data = Data(x=DATA.x, edge_index=INDEX, edge_label_index=INDEX)
    model = zoo.create("graph-tiny", node_features=2, edge_features=0, num_classes=2).eval()
    without = Preprocess({"node_features": 2})(Data(x=DATA.x, edge_index=INDEX))
    torch.testing.assert_close(model(*Preprocess({"node_features": 2})(data)), model(*without))


def test_features_of_different_precisions_are_refused() -> None:
    other = Data(x=DATA.x.double(), edge_index=INDEX)
    with pytest.raises(ConfigError, match=r"graphs with features of torch.float32, torch.float64: one precision"):
        Preprocess({"node_features": 2})([Data(x=DATA.x, edge_index=INDEX), other])


def test_lines_of_json_are_graphs_too() -> None:
    line = '{"edges": [[0, 1], [1, 2]], "x": [[1.0, 0.5], [2, 3], [4, 5]], "label": "ring"}'
    x, index, attr, batch = Preprocess({"node_features": 2})([line, " " + line.replace(', "label": "ring"', "")])
    assert x.tolist() == [[1, 0.5], [2, 3], [4, 5]] * 2
    assert index.tolist() == [[0, 1, 3, 4], [1, 2, 4, 5]]
    assert (attr, batch.tolist()) == (None, [0, 0, 0, 1, 1, 1])
    for line, text in (('{"nodes": 3}', "it needs edges"), ('{"edges": ', "no JSON"), ('{"edges": [[0]]}', "edges of")):
        with pytest.raises(InputError, match=text):
            Preprocess({"node_features": 0})(line)


def test_nodes_edges_and_characters_are_counted_before_a_batch_is_made() -> None:
    assert Preprocess.amount("CCO") == (3, "characters")
    assert Preprocess.amount(' {"edges": [], "nodes": 2}') == (2, "nodes")
    assert Preprocess.names_of_nodes(' {"edges": [], "nodes": 2}') == []
    assert Preprocess.amount('{"edges": [], "nodes": 2000000000}') == (2_000_000_000, "nodes")
    assert Preprocess.amount('{"edges": [[0, 1], [1, 0], [0, 0]]}') == (3, "nodes")
    with pytest.raises(InputError, match="no JSON"):
        Preprocess.amount("{")
