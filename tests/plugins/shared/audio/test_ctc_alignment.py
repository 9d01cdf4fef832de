"""When tokens were said: against every path, alone and in a batch, and what cannot be aligned."""

import itertools

import pytest
import torch
from torch import Tensor

from zoo.core.errors import InputError
from zoo.core.special_tokens import Symbols
from zoo.plugins.shared.audio.ctc_alignment import Aligned, align

VOCAB = 6


def drawn(b: int, n: int, seed: int = 0) -> Tensor:
    return 2 * torch.randn(b, n, VOCAB, generator=torch.Generator().manual_seed(seed))


def emitting(path: list[int]) -> Tensor:
    return 5.0 * torch.nn.functional.one_hot(torch.tensor([path]), VOCAB)


def test_tokens_stand_where_they_are_emitted() -> None:
    (found,) = align(emitting([0, 3, 3, 0, 3, 4, 4, 4, 0]), torch.tensor([9]), [[3, 3, 4]])
    assert [(each.token, each.start, each.end) for each in found] == [(3, 1, 3), (3, 4, 5), (4, 5, 8)]
    assert [(each.start_ms, each.end_ms) for each in found] == [(40, 120), (160, 200), (200, 320)]
    chance = emitting([3]).softmax(-1).max().item()
    assert [each.score for each in found] == pytest.approx([chance] * 3)


@pytest.mark.parametrize("said", [[3], [3, 3], [4, 3, 5], [5, 5, 3]])
@pytest.mark.parametrize("seed", range(3))
def test_the_path_is_the_best_of_all_that_say_it(said: list[int], seed: int) -> None:
    scores, n = drawn(1, 6, seed), 6
    log = scores[0].log_softmax(-1).tolist()
    paths = (p for p in itertools.product(sorted({0, *said}), repeat=n) if merged(p) == said)
    best = max(paths, key=lambda path: sum(row[token] for row, token in zip(log, path, strict=True)))
    (found,) = align(scores, torch.tensor([n]), [said])
    path = [0] * n
    for token, start, end, _ in found:
        path[start:end] = [token] * (end - start)
    assert path == list(best)


def merged(path: tuple[int, ...]) -> list[int]:
    return [token for token, _ in itertools.groupby(path) if token]


def test_a_sound_is_aligned_as_alone() -> None:
    scores, lengths = drawn(2, 8), torch.tensor([8, 5])
    ids = torch.tensor([[3, 4, 5, 3, 2], [5, 5, 2, 0, -100]])
    scores[1, 5:] = torch.nan
    together = align(scores, lengths, ids)
    assert together[1] == align(scores[1:, :5], torch.tensor([5]), [[5, 5]])[0]
    assert [each.token for each in together[0]] == [3, 4, 5, 3]
    assert max(each.end for each in together[1]) <= 5


def test_nothing_said_stands_nowhere() -> None:
    assert align(drawn(2, 4), torch.tensor([4, 4]), [[], [3]])[0] == []
    assert align(drawn(1, 4), torch.tensor([4]), [[]]) == [[]]


def test_another_symbol_can_be_the_blank() -> None:
    scores, order = drawn(1, 5), [4, 1, 2, 3, 0, 5]
    (usual,), (other,) = (
        align(scores, torch.tensor([5]), [[3, 4]]),
        align(scores[..., order], torch.tensor([5]), [[3, 0]], Symbols(4, 1, 2)),
    )
    assert [each[1:3] for each in other] == [each[1:3] for each in usual]
    assert [each.token for each in other] == [3, 0]


def test_a_transcript_longer_than_its_sound_is_named() -> None:
    with pytest.raises(InputError, match=r"row 1: a transcript of 2 tokens, \[3, 3\], needs 3 vectors.*there are 2"):
        align(drawn(2, 4), torch.tensor([4, 2]), [[3], [3, 3]])


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="1 transcripts of 2 sounds"):
        align(drawn(2, 4), torch.tensor([4, 4]), [[3]])
    with pytest.raises(InputError, match="token 6 at place 1 of row 0"):
        align(drawn(1, 4), torch.tensor([4]), [[3, 6]])
    with pytest.raises(InputError, match="Lengths must lie in"):
        align(drawn(1, 4), torch.tensor([5]), [[3]])


def test_milliseconds_are_those_of_the_vectors() -> None:
    assert Aligned(3, 2, 5, 0.5).start_ms == 80
    assert Aligned(3, 2, 5, 0.5).end_ms == 200


def test_vectors_of_samples_are_20_ms_apart() -> None:
    (found,) = align(emitting([0, 3, 3, 0]), torch.tensor([4]), [[3]], milliseconds=20)
    assert [(each.start_ms, each.end_ms) for each in found] == [(20, 60)]
    assert [tuple(each)[:3] for each in found] == [(3, 1, 3)]
