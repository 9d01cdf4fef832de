"""Nystrom attention with a landmark for each place is softmax attention in the limit; its six steps are not."""

from typing import Any

import torch
from torch import Tensor

from zoo.core import Attention, Lengths, Tokens
from zoo.core.mechanisms.efficient.nystrom import Nystrom, nystrom, pseudo_inverse, segment_means

X = torch.randn(2, 8, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def pair(landmarks: int, steps: int) -> tuple[Any, Attention]:
    torch.manual_seed(0)
    softmax = Attention(8, 2).double()
    layer = Nystrom(8, 2, landmarks=landmarks, steps=steps).double()
    layer.load_state_dict({**softmax.state_dict(), "conv.weight": torch.zeros_like(layer.conv.weight)})
    return layer, softmax


@torch.no_grad()
def test_with_a_landmark_for_each_place_it_is_softmax_attention_in_the_limit_of_the_iteration() -> None:
    layer, softmax = pair(8, 60)
    torch.testing.assert_close(layer(Tokens(X)), softmax(Tokens(X)), atol=1e-6, rtol=0)
    six, _ = pair(8, 6)
    assert (six(Tokens(X)) - softmax(Tokens(X))).abs().max() > 1e-3


@torch.no_grad()
def test_it_approximates_smooth_sequences_better_with_more_landmarks() -> None:
    steps = torch.linspace(0, 3, 32, dtype=torch.float64)
    smooth = Tokens(torch.stack([(steps * (c + 1)).sin() for c in range(8)], -1)[None])
    errors = []
    for landmarks in (2, 8, 16):
        layer, softmax = pair(landmarks, 20)
        errors.append(float((layer(smooth) - softmax(smooth)).square().mean().sqrt()))
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


def test_by_name_it_has_the_six_steps_and_the_convolution_of_33_places_of_the_published_models() -> None:
    layer = nystrom("4")(8, 2)
    assert layer.steps == 6
    assert layer.conv.weight.shape == (2, 1, 33, 1)


def test_the_iteration_is_the_inverse_in_the_limit_of_each_matrix_alone() -> None:
    a = torch.randn(2, 3, 5, 5, dtype=torch.float64).softmax(-1)
    torch.testing.assert_close(pseudo_inverse(a, 60), torch.linalg.pinv(a), atol=1e-6, rtol=1e-6)
    sharper = torch.stack([a[0], torch.eye(5).double().expand(3, 5, 5)])
    assert torch.equal(pseudo_inverse(sharper, 6)[0], pseudo_inverse(a, 6)[0])
    assert torch.equal(pseudo_inverse(torch.zeros(1, 2, 2), 6), torch.zeros(1, 2, 2))


def test_landmarks_are_means_of_segments_of_what_is_there() -> None:
    means = segment_means(torch.tensor([[True] * 6, [True] * 3 + [False] * 3, [False] * 6]), 4)
    torch.testing.assert_close(means.sum(-1), torch.tensor([[1.0] * 4, [1, 1, 1, 0], [0] * 4]).double())
    assert (means[0] > 0).sum(1).tolist() == [2, 1, 2, 1]
    assert torch.equal(means[1, :3, :3], torch.eye(3).double())


@torch.no_grad()
def test_a_sharper_row_of_the_batch_changes_no_other() -> None:
    layer = nystrom("4")(8, 2).double()
    sharper = Tokens(torch.cat([X[:1], X[1:] * 8]), keys=Lengths(torch.tensor([8, 8])))
    torch.testing.assert_close(layer(sharper)[0], layer(Tokens(X[:1]))[0], atol=1e-12, rtol=0)


@torch.no_grad()
def test_the_convolution_adds_the_values_around_a_place_head_by_head() -> None:
    layer, _ = pair(8, 6)
    plain = layer.weights(Tokens(X))
    layer.conv.weight[:, 0, 15:18, 0] = torch.tensor([[1.0, 2, 3], [4, 5, 6]]).double()
    added: Tensor = layer.weights(Tokens(X)) - plain
    bands = [torch.diag(torch.full((8 - abs(o),), 1.0), o).double() for o in (-1, 0, 1)]
    for head, taps in enumerate(([1, 2, 3], [4, 5, 6])):
        wanted = sum(tap * band for tap, band in zip(taps, bands, strict=True))
        torch.testing.assert_close(added[0, head], wanted)


def test_a_set_of_nothing_and_segments_of_nothing_have_no_mean() -> None:
    assert segment_means(torch.zeros(1, 4, dtype=torch.bool), 3).equal(torch.zeros(1, 3, 4, dtype=torch.float64))
    few = segment_means(torch.tensor([[True, True, False]]), 4)
    assert few.sum(-1).tolist() == [[1, 1, 0, 0]]
