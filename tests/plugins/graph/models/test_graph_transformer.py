"""The models of graphs: what goes in, what comes out, and what does not matter."""

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from zoo.core import Attention, ConfigError, InputError, Kernel, Window
from zoo.plugins.graph.io.examples import example
from zoo.plugins.graph.models.graph_transformer import GraphModel, gps, graph_transformer

pytestmark = pytest.mark.usefixtures("float64")

SIZES: dict[str, Any] = {"dim": 16, "depth": 2, "num_heads": 2, "mlp_dim": 16, "position_dim": 4}
READS: dict[str, Any] = {"node_features": 3, "edge_features": [4, 2]}
MAKERS = [graph_transformer, gps]


def inputs(seed: int = 0, **config: Any) -> tuple[Any, ...]:
    return example({**READS, **config}, 3, seed)


def as_data(x: Tensor, index: Tensor, attr: Tensor, batch: Tensor) -> Batch:
    graphs = []
    for number in range(int(batch.max()) + 1):
        nodes = batch == number
        edges = nodes[index[0]]
        first = int(nodes.nonzero()[0])
        graphs.append(Data(x=x[nodes], edge_index=index[:, edges] - first, edge_attr=attr[edges]))
    return Batch.from_data_list(graphs)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(("task", "shape"), [("classify", (3, 5)), ("tag", (18, 5)), ("features", (18, 16))])
def test_tensors_and_data_are_answered_alike(make: Any, task: str, shape: tuple[int, ...]) -> None:
    model = make(**SIZES, **READS, task=task, num_classes=0 if task == "features" else 5).eval()
    given = inputs()
    answer = model(*given)
    assert answer.shape == shape
    torch.testing.assert_close(model(as_data(*given)), answer)


def test_pairs_are_scored_of_tensors_and_data() -> None:
    model = graph_transformer(**SIZES, **READS, task="link").eval()
    given = inputs(task="link")
    answer = model(*given)
    assert answer.shape == (9,)
    data = as_data(*given[:4])
    torch.testing.assert_close(model(data, given[4]), answer)
    data.edge_label_index = given[4]
    torch.testing.assert_close(model(data), answer)
    with pytest.raises(InputError, match="task='link' scores pairs of nodes: give them"):
        model(*given[:4])
    with pytest.raises(InputError, match=r"pairs\[:, 0\] is \(18, 0\), and there are 18 nodes"):
        model(*given[:4], torch.tensor([[18], [0]]))


OPTIONS: list[dict[str, Any]] = [
    {"position": "laplacian"},
    {"position": "degree"},
    {"edges_as": "bias"},
    {"direction": "both"},
    {"self_loops": "add"},
    {"virtual_nodes": 2},
    {"global_nodes": [1]},
    {"pool": "max"},
    {"edge_features": 0},
]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_graph_is_answered_as_if_it_were_alone(make: Any, options: dict[str, Any]) -> None:
    torch.manual_seed(0)
    model = make(**SIZES, **{**READS, **options}, num_classes=5).eval()
    data = as_data(*inputs())
    together = model(data)
    for number, graph in enumerate(data.to_data_list()):
        torch.testing.assert_close(model(graph), together[number : number + 1])


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("options", [each for each in OPTIONS if not each.keys() & {"pool", "global_nodes"}], ids=str)
def test_a_relabelled_graph_gets_relabelled_answers(make: Any, options: dict[str, Any]) -> None:
    torch.manual_seed(0)
    model = make(**SIZES, **{**READS, **options}, task="features").eval()
    x, index, attr, _ = example({**READS}, 6, 1)
    last = int(_.max())
    nodes = _ == last  # the largest graph: the others have symmetries, whose eigenvectors have no order
    edges, first = nodes[index[0]], int(nodes.nonzero()[0])
    x, index, attr = x[nodes], index[:, edges] - first, attr[edges]
    order, mixed = torch.randperm(len(x)), torch.randperm(index.shape[1])
    other = model(x[order], order.argsort()[index][:, mixed], attr[mixed])
    torch.testing.assert_close(other, model(x, index, attr)[order])


@pytest.mark.parametrize("make", MAKERS)
def test_nodes_read_along_edges_only_or_their_whole_graph(make: Any) -> None:
    model = make(**{**SIZES, "depth": 1}, node_features=3, position="none", task="features")
    x = torch.randn(4, 3, requires_grad=True)
    model(x, torch.tensor([[0, 1], [1, 2]]))[1].square().sum().backward()
    assert x.grad is not None
    reached = (x.grad.abs().sum(1) > 0).tolist()
    assert reached == ([True, True, False, False] if make is graph_transformer else [True] * 4)


def test_the_empty_are_answered() -> None:
    for make in MAKERS:
        model = make(**SIZES, node_features=3, num_classes=5).eval()
        none = torch.zeros(2, 0, dtype=torch.long)
        assert torch.isfinite(model(torch.randn(3, 3), none)).all()
        assert torch.isfinite(model(torch.randn(1, 3), none)).all()
        assert torch.isfinite(model(torch.randn(0, 3), none)).all()
        empty = Data(x=torch.zeros(0, 3), edge_index=none)
        some = Data(x=torch.randn(2, 3), edge_index=torch.tensor([[0], [1]]))
        answers = model(Batch.from_data_list([empty, some, empty]))
        torch.testing.assert_close(answers[1:2], model(Batch.from_data_list([some])))
        torch.testing.assert_close(answers[0], answers[2])


def test_training_reaches_every_parameter() -> None:
    for make in MAKERS:
        model = make(**SIZES, **READS, virtual_nodes=1, position="laplacian", num_classes=2)
        model(*inputs()).square().sum().backward()
        assert not [name for name, p in model.named_parameters() if p.grad is None]


def test_linear_attention_is_swapped_in_by_name() -> None:
    model: GraphModel = gps(**SIZES, **READS, wide="linear", norm="batch")
    assert all(block.wide.norm == Kernel() for block in model.encoder.blocks)


def test_unknown_choices_are_refused() -> None:
    for options, text in (
        ({"target": "rank"}, "target='rank' is not one of class, labels, numbers"),
        ({"position": "rotary"}, "position='rotary' is not one of"),
        ({"node_features": [0]}, r"node_features=\[0\] is neither"),
        (
            {"attention": partial(Attention, pattern=Window(2))},
            r"Window\(.*\) needs an order of tokens, and nodes",
        ),
    ):
        with pytest.raises(ConfigError, match=text):
            graph_transformer(**{**SIZES, **options})
