import pytest
import torch
from torch_geometric.utils import dropout_edge

import zoo
from zoo.data.corpus_options import with_options
from zoo.errors import ConfigError
from zoo.plugins.graph.data.augmentation import SHARE, drop_edges, mask_nodes
from zoo.plugins.graph.data.karate import open_karate
from zoo.plugins.graph.data.synthetic_graphs import open_synthetic

NODES = 400


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def ring() -> torch.Tensor:
    ends = torch.stack([torch.arange(NODES), torch.arange(1, NODES + 1) % NODES])
    return torch.cat([ends, ends.flip(0)], 1)


def test_both_directions_of_an_edge_go_together() -> None:
    index = ring()
    kept = index[:, drop_edges(index, NODES, seeded())]
    edges = {tuple(edge) for edge in kept.T.tolist()}
    assert {(b, a) for a, b in edges} == edges
    assert 1 - len(edges) / index.shape[1] == pytest.approx(SHARE, abs=0.05)


def test_edges_of_one_direction_and_to_the_node_itself_stay_once_other_than_with_pytorch_geometric() -> None:
    index = torch.stack([torch.arange(NODES, 0, -1) - 1, torch.arange(NODES, 0, -1) // 2])  # to nodes of lower number
    kept = index[:, drop_edges(index, NODES, seeded())]
    assert 1 - kept.shape[1] / NODES == pytest.approx(SHARE, abs=0.05)
    assert len(kept.T.unique(dim=0)) == kept.shape[1]
    assert dropout_edge(index, p=1e-9, force_undirected=True)[0].shape[1] < 5
    loop = torch.zeros(2, 1, dtype=torch.long)
    assert dropout_edge(loop, p=1e-9, force_undirected=True)[0].shape[1] == 2
    assert drop_edges(torch.zeros(2, 0, dtype=torch.long), 3, seeded()).tolist() == []


@pytest.mark.parametrize("x", [torch.ones(NODES, 3), torch.ones(NODES, 3, dtype=torch.long)])
def test_all_features_of_some_nodes_are_masked_and_the_process_s_random_numbers_left_alone(x: torch.Tensor) -> None:
    before = torch.get_rng_state()
    masked = mask_nodes(x, seeded())
    assert torch.equal(torch.get_rng_state(), before)
    assert masked.dtype == x.dtype
    hidden = masked.eq(0)
    assert torch.equal(hidden.all(1), hidden.any(1))
    assert float(hidden.float().mean()) == pytest.approx(SHARE, abs=0.05)
    assert torch.equal(mask_nodes(x, seeded()), masked)
    assert not torch.equal(mask_nodes(x, seeded(1)), masked)
    assert x.all()


def test_training_graphs_are_changed_by_name_and_held_out_ones_are_not() -> None:
    corpus = open_synthetic("triangle?count=60", zoo.info("graph-tiny"), 0, "")
    changed = with_options(corpus, augment="drop-edges")
    place = torch.arange(8)
    (_, index, _, _), _ = corpus.batch(place, seeded())
    (_, fewer, _, _), _ = changed.batch(place, seeded())
    assert fewer.shape[1] < index.shape[1]
    assert torch.equal(changed.batch(place, seeded()).inputs[1], fewer)
    for one, other in zip(corpus.held_out("test", 4), changed.held_out("test", 4), strict=True):
        assert torch.equal(one.inputs[1], other.inputs[1])
    same = with_options(changed, augment="none").batch(place, seeded())
    assert torch.equal(same.inputs[1], index)


def test_nodes_of_a_graph_alone_are_masked_too() -> None:
    corpus = with_options(open_karate("", zoo.info("graph-tiny"), 0, ""), augment="drop-edges+mask-nodes")
    x, index, attr, batch = corpus.batch(torch.tensor([0]), seeded()).inputs
    assert (attr, batch) == (None, None)
    assert x.any(1).logical_not().any()
    assert index.shape[1] < 156


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("crop", "there is no 'crop'; give one of none, and any of drop-edges, mask-nodes"),
        ("none+drop-edges", "'none' is given alone"),
        ("mask-nodes", "the nodes of 'drawn-graphs' have no features to mask"),
    ],
)
def test_what_is_no_augmentation_of_the_graphs_is_refused(names: str, said: str) -> None:
    corpus = open_synthetic("triangle?count=60", zoo.info("graph-tiny"), 0, "")
    with pytest.raises(ConfigError, match=said):
        with_options(corpus, augment=names)
