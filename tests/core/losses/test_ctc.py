"""Connectionist temporal classification: the loss of every alignment, greedy search, and what cannot be emitted."""

import itertools

import pytest
import torch
from torch import Tensor

from zoo.core.errors import ConfigError, InputError
from zoo.core.generation.ctc_greedy import greedy
from zoo.core.losses.ctc import ctc_log_probs, ctc_loss, fronted, needed, transcripts
from zoo.core.special_tokens import SYMBOLS, Symbols

VOCAB = 6
WORDS = (3, 4, 5)


def drawn(b: int, n: int, seed: int = 0) -> Tensor:
    return 2 * torch.randn(b, n, VOCAB, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def merged(path: tuple[int, ...]) -> tuple[int, ...]:
    """Read off a transcript as the paper says: repeats are one, then blanks go."""
    return tuple(token for token, _ in itertools.groupby(path) if token != 0)


def every_transcript(scores: Tensor) -> dict[tuple[int, ...], float]:
    """Give the probability of each transcript: the sum over all paths, one by one."""
    chances = scores.softmax(-1).tolist()
    found: dict[tuple[int, ...], float] = {}
    for path in itertools.product((0, *WORDS), repeat=len(chances)):
        chance = 1.0
        for row, token in zip(chances, path, strict=True):
            chance *= row[token]
        found[merged(path)] = found.get(merged(path), 0.0) + chance
    return found


@pytest.mark.parametrize("target", [(), (3,), (3, 3), (4, 3), (3, 4, 3), (5, 4, 3, 5)])
def test_the_loss_is_that_of_all_alignments(target: tuple[int, ...]) -> None:
    scores = drawn(1, 4)
    loss = ctc_loss(scores, torch.tensor([4]), torch.tensor([target], dtype=torch.long))
    torch.testing.assert_close(loss.neg().exp().item(), every_transcript(scores[0])[target])


def test_vectors_behind_a_row_and_symbols_in_a_target_count_nothing() -> None:
    scores = drawn(2, 6)
    target = torch.tensor([[3, 4, 2, -100], [5, 2, -100, -100]])
    loss = ctc_loss(scores, torch.tensor([6, 3]), target)
    scores[1, 3:] = torch.nan
    alone = ctc_loss(scores[1:, :3], torch.tensor([3]), torch.tensor([[1, 5, 0]]))
    torch.testing.assert_close(ctc_loss(scores, torch.tensor([6, 3]), target), loss)
    torch.testing.assert_close(alone, loss[1:])


def test_no_gradient_reaches_vectors_behind_a_row() -> None:
    scores = drawn(2, 5).requires_grad_()
    ctc_loss(scores, torch.tensor([5, 2]), torch.tensor([[3, 3], [4, 5]]), smoothing=0.1).sum().backward()
    assert scores.grad is not None
    assert scores.grad[1, 2:].abs().max() == 0
    assert scores.grad[1, :2].abs().min() > 0


def test_smoothing_asks_each_vector_for_all_tokens() -> None:
    scores, lengths, target = drawn(2, 4), torch.tensor([4, 2]), torch.tensor([[3, 4], [5, 2]])
    even = torch.stack([-scores[0].log_softmax(-1).mean(-1).sum(), -scores[1, :2].log_softmax(-1).mean(-1).sum()])
    wanted = 0.75 * ctc_loss(scores, lengths, target) + 0.25 * even
    torch.testing.assert_close(ctc_loss(scores, lengths, target, smoothing=0.25), wanted)
    with pytest.raises(ConfigError, match=r"smoothing=1\.0 is not in \[0, 1\)"):
        ctc_loss(scores, lengths, target, smoothing=1.0)


def test_a_transcript_needs_a_blank_between_equal_tokens() -> None:
    ids = torch.tensor([[3, 3, 4, 4, 4], [3, 4, 3, 0, 0], [0, 0, 0, 0, 0]])
    assert needed(ids, torch.tensor([5, 3, 0])).tolist() == [8, 3, 0]


@pytest.mark.parametrize("length", [4, 5])
def test_a_transcript_that_is_too_long_is_named(length: int) -> None:
    scores, target = drawn(2, 6), torch.tensor([[3, 2, -100, -100], [3, 3, 4, 4]])
    text = rf"row 1: a transcript of 4 tokens, \[3, 3, 4, 4\], needs 6 vectors, .*; there are {length}"
    with pytest.raises(InputError, match=text):
        ctc_loss(scores, torch.tensor([6, length]), target)
    assert ctc_loss(scores, torch.tensor([6, 6]), target).isfinite().all()


def test_a_token_outside_the_vocabulary_is_named() -> None:
    with pytest.raises(InputError, match="token 6 at place 1 of row 0: the vocabulary has 6"):
        ctc_loss(drawn(1, 4), torch.tensor([4]), torch.tensor([[3, 6]]))


def test_transcripts_hold_no_symbols() -> None:
    target = torch.tensor([[1, 3, 0, 4, 2, -100], [-100, 5, 5, 2, 2, 0]])
    ids, counts = transcripts(target, SYMBOLS)
    assert ids.tolist() == [[3, 4], [5, 5]]
    assert counts.tolist() == [2, 2]


def test_greedy_takes_the_likeliest_path_and_merges_it() -> None:
    path = torch.tensor([[3, 3, 0, 3, 4, 4], [0, 5, 0, 0, 5, 5]])
    scores = torch.nn.functional.one_hot(path, VOCAB).double() * 4
    found = greedy(scores, torch.tensor([6, 4]))
    assert found.best() == [[3, 3, 4], [5]]
    best = scores.log_softmax(-1).amax(-1)
    torch.testing.assert_close(found.scores[:, 0], torch.stack([best[0].sum(), best[1, :4].sum()]))


def test_greedy_scores_at_most_what_its_transcript_has() -> None:
    scores, lengths = drawn(8, 5), torch.full((8,), 5)
    found = greedy(scores, lengths)
    all_alignments = -ctc_loss(scores, lengths, found.ids[:, 0])
    assert (found.scores[:, 0] <= all_alignments + 1e-9).all()
    assert (found.scores[:, 0] < all_alignments - 0.1).any()


def test_begin_and_end_are_never_emitted() -> None:
    scores = drawn(1, 4)
    scores[..., 1:3] += 20
    found = ctc_log_probs(scores, torch.tensor([3]), SYMBOLS)
    assert found[0, :3, 1:3].isneginf().all()
    assert set(greedy(scores, torch.tensor([4])).best()[0]) <= set(WORDS)
    assert found[0, 3].tolist() == [0.0, *[-torch.inf] * 5]


def test_another_symbol_can_be_the_blank() -> None:
    scores = drawn(3, 4)
    order = [4, 1, 2, 3, 0, 5]  # the blank is token 4
    lengths, symbols = torch.full((3,), 4), Symbols(4, 1, 2)
    usual = greedy(scores, lengths).best()
    found = greedy(scores[..., order], lengths, symbols).best()
    assert [[order[token] for token in row] for row in found] == usual


def test_lengths_that_are_not_there_are_refused() -> None:
    with pytest.raises(InputError, match=r"Lengths must lie in 0 … 4"):
        greedy(drawn(1, 4), torch.tensor([5]))


def test_what_is_kept_moves_to_the_front() -> None:
    x = torch.tensor([[7, 8, 9], [7, 8, 9]])
    ids, counts = fronted(x, torch.tensor([[False, True, True], [False, False, True]]), 0)
    assert ids.tolist() == [[8, 9], [9, 0]]
    assert counts.tolist() == [2, 1]


def test_a_vocabulary_without_begin_and_end_emits_all_but_the_blank() -> None:
    scores = torch.nn.functional.one_hot(torch.tensor([[1, 2, 0, 5, 5]]), VOCAB).double()
    assert greedy(scores, torch.tensor([5]), Symbols(0, -1, -1)).best() == [[1, 2, 5]]
    log = ctc_log_probs(scores, torch.tensor([5]), Symbols(0, -1, -1))
    torch.testing.assert_close(log, scores.log_softmax(-1))
