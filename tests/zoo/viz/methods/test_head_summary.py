"""Summaries of heads whose values are known, and a plain loop."""

import math

import pytest
import torch

from zoo.viz.methods.head_summary import HeadSummary, summarise


def test_heads_that_look_at_one_place_are_summarised_by_it() -> None:
    eye = torch.eye(4)
    previous = eye.roll(-1, 1)
    previous[0] = eye[0]
    first = eye[:1].expand(4, 4)
    itself, before, sink = summarise(torch.stack([eye, previous, first]))
    assert itself == HeadSummary(entropy=0.0, distance=0.0, first=0.25, itself=1.0, previous=0.0, padding=0.0)
    assert before == HeadSummary(entropy=0.0, distance=0.75, first=0.5, itself=0.25, previous=0.75, padding=0.0)
    assert (sink.first, sink.distance) == (1, 1.5)


def test_it_agrees_with_a_plain_loop() -> None:
    weights = torch.randn(1, 5, 5).double().softmax(-1)
    (found,) = summarise(weights)
    rows = weights[0].tolist()
    assert found.entropy == pytest.approx(sum(-p * math.log2(p) for row in rows for p in row) / 5)
    distance = sum(p * abs(i - j) for i, row in enumerate(rows) for j, p in enumerate(row)) / 5
    assert found.distance == pytest.approx(distance)


def test_even_weights_have_the_largest_entropy() -> None:
    (found,) = summarise(torch.full((1, 3, 8), 1 / 8), cross=True)
    assert found.entropy == pytest.approx(3)
    assert (found.distance, found.itself, found.previous) == (None, None, None)


def test_padding_is_counted_as_a_key_and_not_as_a_query() -> None:
    weights = torch.tensor([[[0.75, 0.0, 0.25], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]])
    (found,) = summarise(weights, torch.tensor([True, True, False]))
    assert found.padding == pytest.approx(0.125)
    assert found.itself == pytest.approx(0.625)


def test_queries_that_read_nothing_are_left_out_and_rows_are_shares() -> None:
    weights = torch.tensor([[[0.0, 0.0], [0.2, 0.2]]])
    (found,) = summarise(weights)
    assert [found.entropy, found.first] == pytest.approx([1, 0.5])


def test_distance_is_that_of_places_and_ignores_what_has_none() -> None:
    nan = float("nan")
    places = torch.tensor([[nan, nan], [0.0, 0.0], [3.0, 4.0]])
    weights = torch.tensor([[[1.0, 0.0, 0.0], [0.5, 0.0, 0.5], [0.5, 0.0, 0.5]]])
    (found,) = summarise(weights, places=places)
    assert found.distance == pytest.approx(2.5)
