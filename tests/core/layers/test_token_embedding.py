"""`TokenEmbed`: vectors of tokens, and where they stand."""

import re

import pytest
import torch
from torch import Tensor

from zoo.core import InputError, Lengths, Segments, TokenEmbed, Valid, as_keys

IDS = torch.tensor([[3, 4, 5, 1], [2, 2, 0, 0]])


def embed(position: str = "learned", **options: float) -> TokenEmbed:
    torch.manual_seed(0)
    return TokenEmbed(6, 8, position=position, max_len=9, **options).eval()  # type: ignore[arg-type]


def places(part: TokenEmbed, n: int) -> Tensor:
    assert part.position is not None
    return part.position((9,))[:n]


@pytest.mark.parametrize("position", ["learned", "sinusoidal"])
def test_vectors_are_scaled_and_placed(position: str) -> None:
    part = embed(position, scaled=True)
    tokens = part(IDS)
    torch.testing.assert_close(tokens.x, part.embed.weight[IDS] * 8**0.5 + places(part, 4))
    assert tokens.keys is None
    assert tokens.position is None


@pytest.mark.parametrize("keys", [None, torch.tensor([4, 2]), torch.arange(4) > torch.tensor([[-1], [1]])])
def test_vmap_over_ids_gives_the_vectors_of_each(keys: Tensor | None) -> None:
    part, ids = embed(), torch.stack([IDS, IDS.flip(0), IDS.flip(1)])
    found = torch.vmap(lambda each: part(each, keys).x)(ids)
    torch.testing.assert_close(found, torch.stack([part(each, keys).x for each in ids]))


@pytest.mark.parametrize("position", ["none", "rotary"])
def test_nothing_is_added_for_what_acts_inside_attention(position: str) -> None:
    part = embed(position)
    torch.testing.assert_close(part(IDS).x, part.embed.weight[IDS])


@pytest.mark.parametrize("position", ["learned", "sinusoidal"])
def test_rows_count_from_their_first_token_on_either_side(position: str) -> None:
    part = embed(position)
    row = part(IDS[:1, :2]).x[0]
    right = part(torch.tensor([[3, 4, 0]]), torch.tensor([2]))
    left = part(torch.tensor([[0, 3, 4]]), torch.tensor([[False, True, True]]))
    torch.testing.assert_close(right.x[0, :2], row)
    torch.testing.assert_close(left.x[0, 1:], row)
    assert isinstance(right.keys, Lengths)
    assert isinstance(left.keys, Valid)
    assert left.position is not None
    assert left.position.tolist() == [[-1, 0, 1]]


@pytest.mark.parametrize("position", ["learned", "sinusoidal", "none"])
def test_what_follows_stands_behind_what_came_before(position: str) -> None:
    part, whole = embed(position), embed(position)(IDS).x
    torch.testing.assert_close(part.follow(IDS[:, 1:], 1).x, whole[:, 1:])
    torch.testing.assert_close(part.follow(IDS[:, 2:], torch.tensor([2, 2])).x, whole[:, 2:])
    shifted = part.follow(IDS[:, :1], torch.tensor([0, 1])).x
    torch.testing.assert_close(shifted[1], part.follow(IDS[1:, :1], 1).x[0])
    valid = torch.tensor([[False, True], [True, True]])
    padded = part.follow(IDS[:, 1:3], torch.tensor([2, 1]), valid)
    torch.testing.assert_close(padded.x[0, 1], part.follow(IDS[:1, 2:3], 2).x[0, 0])
    torch.testing.assert_close(padded.x[1], whole[1, 1:3])
    assert part.follow(IDS, 1).position is None


def test_given_positions_are_used() -> None:
    part = embed()
    at = torch.tensor([[5, 6, 7, 8]])
    tokens = part(IDS, None, at)
    torch.testing.assert_close(tokens.x, part.embed.weight[IDS] + places(part, 9)[5:])
    assert tokens.position is at


def test_dropout_is_of_the_sum() -> None:
    part = embed(dropout=0.5).train()
    x = part(IDS).x
    wanted = (part.embed.weight[IDS] + places(part, 4)) * 2
    torch.testing.assert_close(x, wanted.where(x != 0, 0.0))
    assert bool((x == 0).any())


@pytest.mark.parametrize("bad", [6, -1])
def test_what_is_no_token_is_named(bad: int) -> None:
    ids = IDS.clone()
    ids[1, 2] = bad
    with pytest.raises(InputError, match=f"token {bad} at place 2 of row 1: the vocabulary has 6, 0 … 5"):
        embed()(ids)


def test_more_than_was_learned_is_refused_with_both_lengths() -> None:
    text = re.escape("length 10 is more than the 9 positions that were learned")
    with pytest.raises(InputError, match=text):
        embed()(torch.zeros(1, 10, dtype=torch.long))
    with pytest.raises(InputError, match=text):
        embed().follow(torch.zeros(1, 1, dtype=torch.long), 9)


def test_which_are_there_is_said_by_lengths_or_a_boolean_mask() -> None:
    for valid in (torch.ones(2, 4), torch.ones(2)):
        text = f"padding mask of shape {tuple(valid.shape)} of {valid.dtype}: give lengths (b,), whole numbers, a bool"
        with pytest.raises(InputError, match=re.escape(text)):
            embed()(IDS, valid)
        with pytest.raises(InputError, match=re.escape(text)):
            embed().follow(IDS, 0, valid)


@pytest.mark.parametrize("position", ["learned", "sinusoidal", "floater"])
def test_each_document_of_a_row_counts_its_own_positions(position: str) -> None:
    part = embed(position)
    tokens = part(IDS, torch.tensor([[1, 1, 2, 3], [2, 2, 0, 0]]))
    assert isinstance(tokens.keys, Segments)
    assert tokens.keys.ids.tolist() == [[0, 0, 1, 2], [1, 1, -1, -1]]
    assert tokens.position is not None
    assert tokens.position[0].tolist() == [0, 1, 0, 0]
    for row, start, end in ((0, 0, 2), (0, 2, 3), (0, 3, 4), (1, 0, 2)):
        torch.testing.assert_close(tokens.x[row, start:end], part(IDS[row : row + 1, start:end]).x[0])


def test_a_mask_of_zeros_and_ones_is_one_document_in_each_row() -> None:
    keys = as_keys(torch.tensor([[1, 1, 0], [0, 1, 1]]))
    assert isinstance(keys, Valid)
    assert keys.mask.tolist() == [[True, True, False], [False, True, True]]
    assert as_keys(torch.ones(2, 3, dtype=torch.long)) is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool])
def test_tokens_are_whole_numbers(dtype: torch.dtype) -> None:
    with pytest.raises(InputError, match=f"ids of {dtype}: tokens are whole numbers"):
        embed()(IDS.to(dtype))
