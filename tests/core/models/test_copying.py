"""A generator that copies: step by step as at once, beam search, padding, and a source whose tokens no weight knows."""

from typing import Any

import pytest
import torch

from zoo.core import (
    Alignment,
    ConcatScore,
    CopyHead,
    CopyingGenerator,
    NextToken,
    PreviousStateDecoder,
    Stack,
    TokenEmbed,
)

VOCAB = 9
SOURCE, LENGTHS = torch.tensor([[5, 6, 7, 5], [8, 3, 0, 0]]), torch.tensor([4, 2])


@pytest.fixture
def model() -> Any:
    torch.manual_seed(0)
    target = TokenEmbed(VOCAB, 6, position="none")
    decoder = PreviousStateDecoder("gru", 6, Alignment(ConcatScore(6)))
    made = CopyingGenerator(target, decoder, CopyHead(NextToken(6, VOCAB, target.embed)), encoder=Stack([]))
    return made.double().eval()


@torch.no_grad()
def test_what_is_written_step_by_step_has_the_scores_of_teacher_forcing(model: Any) -> None:
    found = model.generate(SOURCE, LENGTHS, max_len=5, length_penalty=0.0)
    written = found.ids[:, 0]
    read = torch.cat([torch.full((2, 1), model.symbols.bos), written[:, :-1]], 1)
    log = model(SOURCE, LENGTHS, read)
    torch.testing.assert_close(log.exp().sum(-1), torch.ones(2, 5, dtype=torch.float64)[:, : log.shape[1]])
    each = log.gather(2, written[..., None])[..., 0]
    steps = torch.arange(each.shape[1]) < (found.lengths + (found.lengths < each.shape[1]).long())
    torch.testing.assert_close((each * steps).sum(1), found.scores[:, 0])


@torch.no_grad()
def test_the_best_of_beams_is_the_best_of_all_texts(model: Any) -> None:
    found = model.generate(SOURCE[:1], LENGTHS[:1], max_len=2, beam=VOCAB, length_penalty=0.0)
    bos, eos = model.symbols.bos, model.symbols.eos
    read = torch.tensor([[bos, word] for word in range(VOCAB)])
    log = model(SOURCE[:1].expand(VOCAB, -1), LENGTHS[:1].expand(VOCAB), read)
    scores = log[:, 0, :].diagonal()[:, None] + log[:, 1]
    scores[eos] = log[0, 0, eos]
    torch.testing.assert_close(found.scores[0, 0], scores.max())


@torch.no_grad()
def test_a_token_of_the_padding_is_not_copied(model: Any) -> None:
    torch.nn.init.constant_(model.head.share.bias, -1e3)  # only copies
    torch.nn.init.zeros_(model.head.share.weight)
    found = model(SOURCE, LENGTHS, torch.tensor([[1, 5], [1, 5]])).exp()
    assert (found[0] > 1e-9).any(0).nonzero()[:, 0].tolist() == [5, 6, 7]
    assert (found[1] > 1e-9).any(0).nonzero()[:, 0].tolist() == [3, 8]
    assert set(model.generate(SOURCE, LENGTHS, max_len=3).ids[1, 0].tolist()) <= {3, 8}
