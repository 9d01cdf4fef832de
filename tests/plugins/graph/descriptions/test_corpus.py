from typing import Any

import pytest
import torch
from torch import nn

import zoo
from zoo.core import IGNORED
from zoo.data import DatasetInfo, Parts
from zoo.data.corpus import Corpus
from zoo.data.items import WritesTexts
from zoo.errors import ConfigError, DataError
from zoo.plugins.graph.descriptions.corpus import DescribedGraphs
from zoo.plugins.graph.descriptions.grammar import draw_graphs
from zoo.plugins.shared.text.choose_tokenizer import choose_tokenizer

JOINED = zoo.info("joined:graph-tiny+transformer-tiny")


def made(spec: Any = JOINED) -> DescribedGraphs:
    drawn = draw_graphs(30, 0)
    chosen = choose_tokenizer("word", "word", [each.text for each in drawn])
    features = {"node_features": [4], "edge_features": 0}
    about = DatasetInfo("made", "made graphs", "1")
    return DescribedGraphs(about, spec, chosen, Parts(drawn[10:], drawn[:5], drawn[5:10]), features)


def test_graphs_are_packed_and_texts_shifted() -> None:
    corpus = made()
    assert isinstance(corpus, Corpus)
    assert corpus.sizes == {"train": 20, "validation": 5, "test": 5}
    (x, edges, attr, batch, ids), target = corpus.examples("test", [0, 1], None)
    first, second = corpus.parts["test"][:2]
    assert attr is None
    assert batch.tolist() == [0] * len(first.graph.x) + [1] * len(second.graph.x)
    assert torch.equal(x, torch.cat([first.graph.x, second.graph.x]))
    assert torch.equal(edges[:, : first.graph.edge_index.shape[1]], first.graph.edge_index)
    known = target[0] != IGNORED
    assert corpus.tokenizer.decode(target[0][known]) == first.text
    assert ids[0, 0] == corpus.tokenizer.bos
    assert torch.equal(ids[0, 1 : known.sum()], target[0, : known.sum() - 1])


def test_a_joined_model_of_the_overrides_reads_them() -> None:
    corpus = made()
    small: dict[str, Any] = {"dim": 16, "depth": 1, "num_heads": 2, "mlp_dim": 16}
    model = zoo.create(JOINED.name, **corpus.overrides(), **small, decoder_config=small)
    inputs, target = corpus.examples("train", [0, 1, 2], None)
    assert model(*inputs).shape == (*target.shape, corpus.tokenizer.vocab_size)


class Knowing(nn.Module):
    """Write what is right, but of the graphs of one size nothing."""

    def __init__(self, corpus: DescribedGraphs, wrong: int) -> None:
        super().__init__()
        self.corpus, self.wrong, self.vocab = corpus, wrong, corpus.tokenizer.vocab_size

    def forward(self, *inputs: Any) -> torch.Tensor:
        return torch.zeros(*inputs[-1].shape, self.vocab)

    def generate(self, x: Any, edges: Any, attr: Any, batch: Any, max_len: int) -> Any:
        counts = batch.bincount().tolist()
        parts = self.corpus.parts["test"]
        rows = {tuple(each.graph.x.flatten().tolist()): place for place, each in enumerate(parts)}
        places = [rows[tuple(part.flatten().tolist())] for part in x.split(counts)]
        self.written = [self.corpus.targets["test"][place][1:-1] if place != self.wrong else [] for place in places]
        return self

    def best(self) -> list[list[int]]:
        return self.written


@pytest.mark.parametrize(("wrong", "share"), [(-1, 1.0), (2, 0.8)])
def test_texts_are_scored_by_exact_match_and_bleu(wrong: int, share: float) -> None:
    corpus = made()
    scores = corpus.score(Knowing(corpus, wrong), "test", 2)
    assert tuple(scores) == corpus.metrics(Knowing(corpus, wrong))
    assert scores["exact match"] == pytest.approx(share)
    written = list(corpus.written(Knowing(corpus, wrong), "test", 2))
    assert isinstance(corpus, WritesTexts)
    assert sorted(each.place for each in written) == list(range(5))
    assert sum(each.text in each.wanted for each in written) / 5 == pytest.approx(share)
    assert (scores["BLEU"] == pytest.approx(100)) == (wrong < 0)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"joined:graph-tiny\+transformer-tiny"):
        made(zoo.info("graph-tiny"))
    with pytest.raises(DataError, match="writes at most max_len=3"):
        made(JOINED.with_config(max_len=3))
