"""Prefix beam search: exact where the beam holds all, against every path; and what a narrow one still has to keep."""

import itertools
import math

import numpy as np
import pytest
import torch
from torch import Tensor

from zoo.core.generation.beam_search import Beam
from zoo.core.generation.ctc_beam_search import longer, prefix_beam
from zoo.core.generation.ctc_greedy import greedy
from zoo.core.losses.ctc import ctc_log_probs, ctc_loss
from zoo.core.special_tokens import SYMBOLS

VOCAB = 6
WORDS = (3, 4, 5)


def drawn(b: int, n: int, seed: int = 0, vocab: int = VOCAB) -> Tensor:
    return 2 * torch.randn(b, n, vocab, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def every_transcript(scores: Tensor) -> list[tuple[tuple[int, ...], float]]:
    """Give each transcript with its log-probability, best first: the sum over all paths, one by one."""
    chances = scores.softmax(-1).tolist()
    found: dict[tuple[int, ...], float] = {}
    for path in itertools.product((0, *WORDS), repeat=len(chances)):
        chance = math.prod(row[token] for row, token in zip(chances, path, strict=True))
        said = tuple(token for token, _ in itertools.groupby(path) if token)
        found[said] = found.get(said, 0.0) + chance
    return sorted(((said, math.log(chance)) for said, chance in found.items()), key=lambda each: -each[1])


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("seed", range(4))
def test_a_beam_that_holds_all_gives_every_transcript_its_probability(n: int, seed: int) -> None:
    scores = drawn(1, n, seed)
    wanted = every_transcript(scores[0])
    found = prefix_beam(scores, torch.tensor([n]), Beam(400, len(wanted)))
    rows = [tuple(row[:length]) for row, length in zip(found.ids[0].tolist(), found.lengths[0].tolist(), strict=True)]
    assert rows == [said for said, _ in wanted]
    torch.testing.assert_close(found.scores[0].tolist(), [chance for _, chance in wanted])


def test_there_are_no_more_transcripts_than_there_are() -> None:
    found = prefix_beam(drawn(1, 1), torch.tensor([1]), Beam(9, 9))
    assert found.scores[0].isfinite().tolist() == [True] * 4 + [False] * 5
    assert found.lengths[0, 4:].tolist() == [0] * 5
    assert found.ids[0, 4:].tolist() == [[0]] * 5


def test_rows_of_unequal_length_are_searched_as_alone() -> None:
    scores, lengths = drawn(3, 7), torch.tensor([7, 4, 1])
    found = prefix_beam(scores, lengths, Beam(5, 3))
    for row, length in enumerate(lengths.tolist()):
        alone = prefix_beam(scores[row : row + 1, :length], lengths[row : row + 1], Beam(5, 3))
        torch.testing.assert_close(found.scores[row], alone.scores[0])
        assert found.best()[row] == alone.best()[0]


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_no_prefix_is_followed_twice_and_no_probability_is_made_up(width: int) -> None:
    scores, lengths = drawn(6, 12, vocab=5), torch.full((6,), 12)  # two words: prefixes meet often
    found = prefix_beam(scores, lengths, Beam(width, width))
    for ids, counts, gained, own in zip(found.ids, found.lengths, found.scores, scores, strict=True):
        rows = [tuple(row[:length]) for row, length in zip(ids.tolist(), counts.tolist(), strict=True)]
        assert len(set(rows)) == width
        exact = -ctc_loss(own.expand(width, -1, -1), torch.full((width,), 12), ids)
        assert (gained <= exact + 1e-9).all()
    assert (found.scores.diff(dim=1) <= 0).all()


def test_a_wider_beam_finds_what_greedy_misses() -> None:
    # two paths say 3, of 0.24 each, and one says nothing, of 0.36: Graves et al. 2006, fig. 2
    chance = torch.full((1, 2, VOCAB), 1e-12, dtype=torch.float64)
    chance[..., 0], chance[..., 3] = 0.6, 0.4
    lengths = torch.tensor([2])
    assert greedy(chance.log(), lengths).best() == [[]]
    found = prefix_beam(chance.log(), lengths, Beam(3))
    assert found.best() == [[3]]
    torch.testing.assert_close(found.scores.exp().item(), 0.64)


def plain_search(log: Tensor, width: int) -> list[tuple[tuple[int, ...], float]]:
    """Search one row with prefixes in a dictionary."""
    beams: dict[tuple[int, ...], tuple[float, float]] = {(): (0.0, -math.inf)}
    for row in log.tolist():
        following: dict[tuple[int, ...], list[float]] = {}
        for prefix, (blank, token) in beams.items():
            both = add(blank, token)
            for said, chance in enumerate(row):
                longer, place, before = (*prefix, said), 1, both
                if said == 0:
                    longer, place = prefix, 0
                elif prefix[-1:] == (said,):
                    following.setdefault(prefix, [-math.inf, -math.inf])
                    following[prefix][1] = add(following[prefix][1], token + chance)
                    before = blank
                following.setdefault(longer, [-math.inf, -math.inf])
                following[longer][place] = add(following[longer][place], before + chance)
        best = sorted(following, key=lambda prefix: add(*following[prefix]), reverse=True)[:width]
        beams = {prefix: (following[prefix][0], following[prefix][1]) for prefix in best}
    return [(prefix, add(*parts)) for prefix, parts in beams.items()]


def add(one: float, other: float) -> float:
    """Add probabilities that are given as logarithms."""
    return float(np.logaddexp(one, other))


@pytest.mark.parametrize("width", [1, 2, 3, 7])
def test_a_narrow_beam_finds_what_a_dictionary_of_prefixes_does(width: int) -> None:
    scores, lengths = drawn(4, 10, seed=width, vocab=5), torch.full((4,), 10)  # prefixes are dropped and come back
    found = prefix_beam(scores, lengths, Beam(width, width))
    for row, log in enumerate(ctc_log_probs(scores, lengths, SYMBOLS)):
        wanted = plain_search(log, width)
        rows = zip(found.ids[row].tolist(), found.lengths[row].tolist(), strict=True)
        assert [tuple(ids[:length]) for ids, length in rows] == [prefix for prefix, _ in wanted]
        torch.testing.assert_close(found.scores[row].tolist(), [chance for _, chance in wanted])


def test_nothing_is_said_in_no_vectors() -> None:
    found = prefix_beam(drawn(2, 3), torch.tensor([0, 3]), Beam(4))
    assert found.best()[0] == []
    assert found.scores[0, 0] == 0
    assert prefix_beam(drawn(1, 0), torch.tensor([0]), Beam(4, 2)).scores.tolist() == [[0.0, -math.inf]]


def test_other_prefixes_have_other_names() -> None:
    names, tokens = [torch.zeros(1, 1, dtype=torch.long)], torch.arange(3, 8)
    for _ in range(7):
        before = names[-1].expand(len(tokens), -1)
        names.append(longer(before, tokens[:, None].expand_as(before)).reshape(1, -1))
    every = torch.cat(names, dim=1)
    assert every.numel() == sum(5**length for length in range(8))
    assert every.unique().numel() == every.numel()
